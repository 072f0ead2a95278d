"""Folding: the key by which texts are compared, for finding duplicates and leaks."""

import unicodedata
from typing import Final

from translator.corpus.normalizer.characters import ARABIC_LETTERS, ASCII_DIGITS, NO_TATWEEL, PRESENTATION_FORMS
from translator.corpus.normalizer.mojibake import repair_decoding
from translator.corpus.normalizer.normalizer import compile_step
from translator.corpus.normalizer.punctuation import UNESCAPE, decode_entities

_FOLDED_LETTERS: Final = {"ة": "ه", "ە": "ه", "ہ": "ه", "ھ": "ه"}  # Arabic, Kurdish and Urdu
_PLAIN: Final = {**NO_TATWEEL, **ARABIC_LETTERS, **ASCII_DIGITS, **_FOLDED_LETTERS}
_unescape: Final = compile_step(UNESCAPE)


class _FoldedCharacters(dict[int, str]):
    """The folded form of each character by its code point, computed when it is first asked for."""

    def __missing__(self, code: int) -> str:
        text = PRESENTATION_FORMS.get(chr(code), chr(code))
        bare = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())  # É → e, ﻻ → لا, ² → 2
        plain = [_PLAIN.get(character, character) for character in bare]
        return self.setdefault(code, "".join(filter(str.isalnum, plain)))


_FOLDED: Final = _FoldedCharacters()


def fold(text: str) -> str:
    """Return the key for finding duplicates and leaks: plain letters and digits, or the text if it has none."""
    folded = _unescape(decode_entities(repair_decoding(text))).translate(_FOLDED)
    return folded or " ".join(text.split())
