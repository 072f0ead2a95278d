"""Folding: the key by which texts are compared, for finding duplicates and leaks."""

import unicodedata
from typing import Final

from translator.corpus.normalizer import characters
from translator.corpus.normalizer.characters import CharacterTable, replacing
from translator.corpus.normalizer.mojibake import repair_decoding
from translator.corpus.normalizer.needed_steps import NeededSteps
from translator.corpus.normalizer.punctuation import UNESCAPE, decode_entities
from translator.corpus.normalizer.rewriting import compile_rewriting, compile_step

_FOLDED_LETTERS: Final = {"ة": "ه", "ە": "ه", "ہ": "ه", "ھ": "ه"}  # Arabic, Kurdish and Urdu


def _bare(character: str) -> str:  # É → e, ﻻ → لا, ² → 2
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())


def _essential(character: str) -> str:  # letters and digits only
    return _FOLDED_LETTERS.get(character, character) if character.isalnum() else ""


_fold_characters: Final = CharacterTable(
    replacing(characters.PRESENTATION_FORMS),
    _bare,
    replacing(characters.NO_TATWEEL),
    replacing(characters.ARABIC_LETTERS),
    replacing(characters.ASCII_DIGITS),
    _essential,
)
_unescape: Final = compile_rewriting(UNESCAPE)
_needed_steps: Final = NeededSteps(
    [compile_step("repair_decoding-1"), compile_step("decode_entities-1"), compile_step(UNESCAPE)], _fold_characters
)


def fold(text: str) -> str:
    """Return the key for finding duplicates and leaks: plain letters and digits, or the text if it has none."""
    codes = _fold_characters.encode(text)
    if codes is None or _needed_steps.of(codes):
        folded = _fold_characters(_unescape(decode_entities(repair_decoding(text))))
    else:
        folded = _fold_characters.decode(_fold_characters.replace(codes))
    return folded or " ".join(text.split())
