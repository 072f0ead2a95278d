"""The normalizer: one spelling for what is written in several ways, the same in training and at inference."""

from collections.abc import Callable, Sequence
from typing import Final

from translator.config import NormalizationConfig
from translator.corpus.normalize import characters, spacing
from translator.corpus.normalize.code_page import CharacterTable

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
    return [CharacterTable(each_character(rules))] if rules else []


def each_character(rules: Sequence[Rule]) -> Rule:
    """Return the function that gives a character what `rules` make of it, one after another."""

    def image(text: str) -> str:
        for rule in rules:
            text = "".join(map(rule, text))  # a rule may have made several characters of one, or none
        return text

    return image
