"""Latin words in a translation: a misspelt copy of a source word gets the spelling of the source."""

import difflib
import re
from typing import Final

LIKENESS: Final = 0.6  # minimum similarity, 0 to 1, of a misspelt copy to its source word
_LATIN: Final = "A-Za-zÀ-ÖØ-öø-ɏ"
_PERSIAN: Final = re.compile("[ء-ی]")
_WORD: Final = re.compile(rf"[{_LATIN}]{{2,}}")


def with_source_spelling(text: str, source: str) -> str:
    """Return `text`, a translation of `source`; a Latin word that `source` lacks becomes the most similar source word.

    A word that resembles no word of the source stays. A text without a Persian letter stays unchanged.

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
        glued = text[found.start() - 1 : found.start()].isalpha()
        return f"{' ' * glued}{spellings[nearest[0]]}"

    return _WORD.sub(spelt, text)
