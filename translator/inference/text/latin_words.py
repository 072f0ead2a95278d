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

    def spelt(match: re.Match[str]) -> str:
        word = match[0].lower()
        if word in spellings:
            return match[0]
        similar_words = difflib.get_close_matches(word, spellings, n=1, cutoff=LIKENESS)
        if not similar_words:
            return match[0]
        # A word that touches a Persian one gets the space that it lacks.
        touches_word = text[match.start() - 1 : match.start()].isalpha()
        space = " " if touches_word else ""
        return f"{space}{spellings[similar_words[0]]}"

    return _WORD.sub(spelt, text)
