"""The normalizer: one spelling for what is written in several ways, the same in training and at inference."""

import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

from translator.config import NormalizationConfig
from translator.corpus import characters, spacing
from translator.corpus.code_page import CharacterTable

NORMALIZER_VERSION: Final[int] = 1
"""Raised whenever a rule changes what it does; a model is used with the normalizer it was trained with."""

Rule = Callable[[str], str]


def chain(rules: Sequence[Rule]) -> Rule:
    """Return the function that applies `rules` one after another."""
    fixed = tuple(rules)

    def apply(text: str) -> str:
        for rule in fixed:
            text = rule(text)
        return text

    return apply


class Normalizer:
    """The rules that a configuration switches on, for either side; applying them twice changes nothing more."""

    def __init__(self, config: NormalizationConfig) -> None:
        """Choose the rules; each is described, with before and after, where it is defined."""
        english: list[Rule] = [
            rule
            for rule, wanted in (
                (characters.zero_width, config.zero_width),
                (characters.white_space, config.spaces),
            )
            if wanted
        ]
        persian: list[Rule] = [
            rule
            for rule, wanted in (
                (characters.presentation_forms, config.presentation_forms),
                (characters.arabic_letters, config.arabic_letters),
                (characters.tatweel, config.tatweel),
                (characters.soft_hyphen, config.zero_width),
                (characters.zero_width, config.zero_width),
                (characters.white_space, config.spaces),
                (characters.vowel_marks, config.vowel_marks == "strip"),
                (characters.ascii_digits, config.digits == "ascii"),
            )
            if wanted
        ]
        self.source: Rule = chain(
            [
                *_table(english),
                *([spacing.tidy_zwnj] if config.zero_width else []),
                *([spacing.tidy_spaces] if config.spaces else []),
                *([spacing.punctuation_spacing, spacing.english_contractions] if config.punctuation_spacing else []),
            ]
        )
        """Normalize an English text."""
        self.target: Rule = chain(
            [
                *_table(persian),
                *([spacing.tidy_zwnj] if config.zero_width else []),
                *([spacing.compose_hamza] if config.presentation_forms else []),
                *([spacing.convert_digits] if config.digits == "persian" else []),
                *([spacing.tidy_spaces] if config.spaces else []),
                *([spacing.punctuation_spacing] if config.punctuation_spacing else []),
            ]
        )
        """Normalize a Persian text."""


def _table(rules: Sequence[Rule]) -> list[Rule]:
    """Return one table that does what `rules`, each made for single characters, do one after another."""
    return [CharacterTable(_each_character(rules))] if rules else []


def _each_character(rules: Sequence[Rule]) -> Rule:
    def image(text: str) -> str:
        for rule in rules:
            text = "".join(map(rule, text))  # a rule may have made several characters of one, or none
        return text

    return image


_FOLDED_LETTERS: Final = {"ة": "ه", "ە": "ه", "ہ": "ه", "ھ": "ه"}


def _bare(character: str) -> str:
    """É → e, ﻻ → لا, ² → 2: compatibility characters apart, without case."""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())


def _essential(character: str) -> str:
    """Letters and digits stay, with one form for the letters that Arabic, Urdu and Kurdish write another way."""
    return _FOLDED_LETTERS.get(character, character) if character.isalnum() else ""


_fold_characters: Final = CharacterTable(
    _each_character(
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

    Case, punctuation, white space, ZWNJ, diacritics and the variants of letters and digits are folded away; of a text
    that is nothing else, the words are kept as they are.
    """
    return _fold_characters(text) or " ".join(text.split())
