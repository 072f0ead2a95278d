"""The filter for texts that are web addresses, tags and code rather than language."""

import re
from typing import Final

from translator.corpus.filters.sides import Check

_SIGNS: Final = re.compile(r"[<>@{}\\|=&/]")
_TAGS: Final = re.compile(r"<[!/]?[A-Za-z][^<>]*+>|<!--|-->|&(?:#x?[0-9A-Fa-f]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});")
"""Tags, comments and entities of HTML."""
_MARKUP_WORD: Final = re.compile(
    r"[a-z]://|www\.|[^@]@[^@.]++\.[A-Za-z]"  # addresses
    r"|[{}\\|]|[=!<>]=|=\"|[-=]>|\w\([^()]*+\);|\[\[\w+:"  # LaTeX, code, files of a wiki
)


def markup(limit: float) -> Check:
    """Return the check that drops a pair of which more than `limit` of a side's characters are markup.

    With a limit of 0.5, "See http://example.org/a/long/address" goes; "Press <b>Enter</b> to go on." stays.
    """

    def is_markup(text: str) -> bool:
        # One of these stands in all that counts as markup.
        has_signs = _SIGNS.search(text) is not None or "www." in text or ");" in text or "[[" in text
        return has_signs and markup_share(text) > limit

    return lambda sides: is_markup(sides.source) or is_markup(sides.target)


def markup_share(text: str) -> float:
    """Return the share of characters, spaces apart, that are in addresses, tags, entities and code; 0 for no text."""
    characters = len("".join(text.split()))
    if not characters:
        return 0.0
    language = len("".join([word for word in _TAGS.sub(" ", text).split() if not _MARKUP_WORD.search(word)]))
    return 1.0 - language / characters
