"""The source text as a model sees it: normalized, with placeholders for what it copies.

In training, each side of a pair is normalized first; then what both sides contain becomes placeholders, in
`training_pair`. A search has no target to compare with, so `SourceReader` cuts out every part that looks copied:
addresses, emoji and code before normalization, which could change them, and numbers after it, as in training.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from translator.config.corpus_section import PERSIAN
from translator.corpus.normalizer.normalizer import Normalizer
from translator.subword.glossary import NO_GLOSSARY, Glossary
from translator.subword.markup import without_tags
from translator.subword.model import SubwordPair
from translator.subword.placeholders import (
    change_numbers,
    cut_out,
    cut_out_of_pair,
    cut_out_unreadable,
    with_ascii_digits,
)

_DIGITS: Final = re.compile(r"\d+")
_SIGN_CATEGORIES: Final = ("S", "P")  # of Unicode: symbols and punctuation


def training_pair(source: str, target: str, placeholders: Sequence[str]) -> tuple[str, str]:
    """Return both sides of a normalized pair as models are trained on them.

    Each part to copy that both sides contain is replaced by one of `placeholders`. Tags are removed, as in a search.
    Without placeholders, the pair stays unchanged.
    """
    if not placeholders:
        return source, target
    return cut_out_of_pair(without_tags(source), without_tags(target), placeholders)


class SourceText(NamedTuple):
    """A source text as a model sees it."""

    text: str  # with placeholders
    copied: dict[str, str]  # placeholder to the part that it replaces, as the target language writes it


class SourceReader:
    """Turns source texts into what a model sees in a search."""

    def __init__(self, subword: SubwordPair, normalizer: Normalizer) -> None:
        """Take the models of a run, and the rules that were applied to its training text."""
        self._model = subword.source
        self._placeholders = list(subword.source.placeholders)
        self._correct_spelling = subword.correct_spelling
        self._normalizer = normalizer
        self.is_unreadable_sign = lru_cache(maxsize=10_000)(self._lacks_sign)
        self._is_unreadable_letter = lru_cache(maxsize=10_000)(self._lacks_letter)

    def read(self, text: str, *, correct_spelling: bool, glossary: Glossary = NO_GLOSSARY) -> SourceText:
        """Return `text` normalized, on one line, with placeholders for copied parts.

        Args:
            text: a sentence in the source language.
            correct_spelling: whether to correct typing errors.
            glossary: terms that are cut out, too, and come back as their translations.
        """
        # 1. Cut out the parts to copy, and normalize what is between them, as in training.
        terms = glossary.pattern if glossary.terms else None
        text, copied = cut_out(text, self._placeholders, self._normalized, terms)
        # The translation of a term comes back, or the part with numbers as the target language writes them.
        for placeholder, part in copied.items():
            copied[placeholder] = glossary.translation(part) or self.with_target_numbers(part)

        # 2. Correct typing errors, only in the words that are left.
        if correct_spelling:
            text = self._correct_spelling(text)

        # 3. Cut out signs, and letters of another script, that the model cannot read even after normalization.
        unreadable = set(filter(self.is_unreadable_sign, set(text)))
        if not text.isascii():
            unreadable.update(filter(self._is_unreadable_letter, set(text)))
        text, copied = cut_out_unreadable(text, unreadable, copied, self._placeholders)
        return SourceText(text=text, copied=copied)

    def _normalized(self, text: str) -> str:
        return one_line(self._normalizer.source(text))

    def _lacks_sign(self, character: str) -> bool:
        """Return whether a character is a sign that the vocabulary lacks."""
        return is_sign(character) and not self._model.has_sign(self._normalizer.source(character))

    def _lacks_letter(self, character: str) -> bool:
        """Return whether a character is a letter of another script that the vocabulary lacks."""
        if not character.isalpha() or is_mostly_in_script(character, self._normalizer.languages[0].script):
            return False
        return not self._model.has_pieces(character)

    def with_target_numbers(self, text: str) -> str:
        """Return `text`, which is copied instead of translated, with numbers in the digits of the target language."""
        return change_numbers(text, self._number_in_target)

    def _number_in_target(self, number: str) -> str:
        """Return a number as the target language writes it; its separators and spaces stay."""
        if self._normalizer.languages[1] == PERSIAN:
            return _DIGITS.sub(lambda digits: self._normalizer.target(digits[0]), number)
        return with_ascii_digits(number)


def one_line(text: str) -> str:
    """Return `text` with each line break, of any kind, replaced by a space."""
    return " ".join(text.splitlines())


def is_sign(character: str) -> bool:
    """Return whether a character is a symbol, a punctuation mark or a number like ½ that has no digit."""
    category = unicodedata.category(character)
    return category.startswith(_SIGN_CATEGORIES) or category == "No"


def is_mostly_in_script(text: str, script: str) -> bool:
    """Return whether at least half of the letters of `text` are of `script`, such as `LATIN`; accents do not matter."""
    if text.isascii() and script == "LATIN":
        return True
    letters = [character for character in text if character.isalpha()]
    letters_in_script = sum(_script_of(letter) == script for letter in letters)
    return 2 * letters_in_script >= len(letters)


@lru_cache(maxsize=10_000)
def _script_of(letter: str) -> str:
    """Return the first word of the Unicode name of a letter, in its compatibility form: `LATIN`, `ARABIC`, `CJK`."""
    plain_letter = unicodedata.normalize("NFKC", letter)[0]
    return unicodedata.name(plain_letter, "").partition(" ")[0]
