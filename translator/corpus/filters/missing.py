"""Filters for text that is not there: empty sides, and characters that were lost."""

from translator.corpus.filters.sides import Sides

_REPLACEMENT: str = "\ufffd"


def empty(sides: Sides) -> bool:
    """Say whether a side has nothing but white space: "The door" with "" goes, with "در" it stays."""
    return not sides.source_words or not sides.target_words


def is_empty(source: str, target: str) -> bool:
    """Say what `empty` says, of two normalized texts."""
    return empty(Sides.of(source, target))


def replacement_character(sides: Sides) -> bool:
    """Say whether a side has U+FFFD: "caf<U+FFFD>" goes, "café" stays."""
    return _REPLACEMENT in sides.source or _REPLACEMENT in sides.target
