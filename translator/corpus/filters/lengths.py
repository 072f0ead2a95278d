"""Filters for texts that are too long, or too long beside the other side."""

from typing import Final

from translator.corpus.filters.sides import Check, Sides

RATIO_FROM: Final = 20
"""Characters of the longer side from which the length ratio is looked at: short sentences vary too much."""
WORD_RATIO_FROM: Final = 12
"""Words of the longer side from which the word ratio is looked at."""


def too_many_words(limit: int) -> Check:
    """Return the check that drops a pair with more than `limit` words on a side.

    With a limit of 3, "the door is open" goes and "doors are open" stays.
    """
    return lambda sides: len(sides.source_words) > limit or len(sides.target_words) > limit


def too_many_characters(limit: int) -> Check:
    """Return the check that drops a pair with more than `limit` characters on a side.

    With a limit of 5, "a door" goes and "doors" stays.
    """
    return lambda sides: len(sides.source) > limit or len(sides.target) > limit


def length_ratio(limit: float) -> Check:
    """Return the check that drops a pair of which one side has more than `limit` times the other's characters.

    With a limit of 4, "He was standing at the window." with "او." goes; "No" with "به هیچ وجه" stays, for it is short.
    """

    def check(sides: Sides) -> bool:
        return _is_lopsided(len(sides.source), len(sides.target), RATIO_FROM, limit)

    return check


def word_ratio(limit: float) -> Check:
    """Return the check that drops a pair of which one side has more than `limit` times the other's words.

    With a limit of 4, "He is a man who may or may not be at home" with "نه او." goes; "I do not know" with "نمی‌دانم"
    stays, for it is short.
    """

    def check(sides: Sides) -> bool:
        return _is_lopsided(len(sides.source_words), len(sides.target_words), WORD_RATIO_FROM, limit)

    return check


def _is_lopsided(length: int, other: int, least: int, limit: float) -> bool:
    shorter, longer = (length, other) if length < other else (other, length)
    return longer >= least and longer > limit * shorter
