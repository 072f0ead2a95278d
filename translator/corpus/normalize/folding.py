"""The key under which texts are compared: what may differ between two spellings of the same text is folded away."""

import unicodedata
from typing import Final

from translator.corpus.normalize import characters
from translator.corpus.normalize.code_page import CharacterTable
from translator.corpus.normalize.mojibake import repair
from translator.corpus.normalize.normalizer import each_character
from translator.corpus.normalize.tokenized import unescape

_FOLDED_LETTERS: Final = {"ة": "ه", "ە": "ه", "ہ": "ه", "ھ": "ه"}


def _bare(character: str) -> str:
    """É → e, ﻻ → لا, ² → 2: compatibility characters apart, without case."""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())


def _essential(character: str) -> str:
    """Letters and digits stay, with one form for the letters that Arabic, Urdu and Kurdish write another way."""
    return _FOLDED_LETTERS.get(character, character) if character.isalnum() else ""


_fold_characters: Final = CharacterTable(
    each_character(
        (
            characters.presentation_forms,
            _bare,
            characters.tatweel,
            characters.arabic_letters,
            characters.ascii_digits,
            _essential,
        )
    )
)


def fold(text: str) -> str:
    """Return the key under which texts are compared for duplicates and leaks.

    Case, punctuation, white space, ZWNJ, diacritics, the variants of letters and digits, escapes and wrong decoding are
    folded away; of a text that is nothing else, the words are kept as they are.
    """
    return _fold_characters(unescape(repair(text))) or " ".join(text.split())
