"""Markup, addresses and code in a text."""

import re
from typing import Final

_MARKUP_SIGNS: Final = re.compile(r"[<>@{}\\|=&/]")
_TAGS: Final = re.compile(r"<[!/]?[A-Za-z][^<>]*+>|<!--|-->|&(?:#x?[0-9A-Fa-f]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});")
_MARKUP_WORD: Final = re.compile(
    r"[a-z]://|www\.|[^@]@[^@.]++\.[A-Za-z]"  # addresses
    r"|[{}\\|]|[=!<>]=|=\"|[-=]>|\w\([^()]*+\);|\[\[\w+:"  # LaTeX, code, files of a wiki
)


def markup_share(text: str) -> float:
    """Return the share of characters, without spaces, in addresses, tags, entities and code; 0 for no text."""
    # A fast test first: all markup has one of these.
    if not (_MARKUP_SIGNS.search(text) or "www." in text or ");" in text or "[[" in text):
        return 0.0
    characters = len("".join(text.split()))
    if characters == 0:
        return 0.0
    text_words = [word for word in _TAGS.sub(" ", text).split() if not _MARKUP_WORD.search(word)]
    return 1.0 - len("".join(text_words)) / characters
