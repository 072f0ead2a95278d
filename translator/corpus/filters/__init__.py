"""Rules that drop a pair on its own merits, each with a name under which it is counted."""

from translator.corpus.filters.lengths import RATIO_FROM
from translator.corpus.filters.missing import is_empty
from translator.corpus.filters.pair_filter import PairFilter
from translator.corpus.filters.rules import (
    DUPLICATE,
    EMPTY,
    FILTER_RULES,
    INVALID_UTF8,
    LINE_TOO_LONG,
    MEANINGS,
    NEAR_DUPLICATE,
    SAME_SOURCE,
    SAME_TARGET,
)

__all__ = [
    "DUPLICATE",
    "EMPTY",
    "FILTER_RULES",
    "INVALID_UTF8",
    "LINE_TOO_LONG",
    "MEANINGS",
    "NEAR_DUPLICATE",
    "RATIO_FROM",
    "SAME_SOURCE",
    "SAME_TARGET",
    "PairFilter",
    "is_empty",
]
