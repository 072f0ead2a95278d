"""Rules that drop a pair on its own merits, each with a name under which it is counted."""

from translator.corpus.filters.pair_filter import DUPLICATE, EMPTY, FILTER_RULES, RATIO_FROM, PairFilter

__all__ = ["DUPLICATE", "EMPTY", "FILTER_RULES", "RATIO_FROM", "PairFilter"]
