"""Latin words in a translation: a misspelt copy of a word of the source takes the spelling that it has there."""

import difflib
import re
from typing import Final

LIKENESS: Final = 0.6  # of two words, from 0 to 1, from which one is taken for a misspelt copy of the other
_LATIN: Final = "A-Za-zÀ-ÖØ-öø-ɏ"
_PERSIAN: Final = re.compile("[ء-ی]")
_WORD: Final = re.compile(rf"[{_LATIN}]{{2,}}")


def with_source_spelling(text: str, source: str) -> str:
    """Return `text`, a translation of `source`, where each Latin word that the source lacks is its most similar one.

    A word that is like none of the source stays, and so does a text without a Persian letter.

    >>> with_source_spelling("آقای Smth درBerln است", "Mr Smith is in Berlin")
    'آقای Smith در Berlin است'
    """
    if _WORD.search(text) is None or _PERSIAN.search(text) is None:
        return text
    spellings = {word.lower(): word for word in _WORD.findall(source)}

    def spelt(found: re.Match[str]) -> str:
        word = found[0].lower()
        nearest = [] if word in spellings else difflib.get_close_matches(word, spellings, n=1, cutoff=LIKENESS)
        if not nearest:
            return found[0]
        glued = text[: found.start()][-1:].isalpha()
        return f"{' ' * glued}{spellings[nearest[0]]}"

    return _WORD.sub(spelt, text)
