"""Comparison: is one system better than another, or was it chance, and in which sentences."""

from translator.evaluation.comparison.compare import (
    EXAMPLES,
    METRICS,
    SAMPLES,
    TRIALS,
    compare_systems,
    distinct_labels,
    numbered,
)
from translator.evaluation.comparison.results import (
    METHODS,
    Difference,
    PairedTest,
    SentenceComparison,
    SystemComparison,
    SystemResult,
)
from translator.evaluation.comparison.table import format_comparison

__all__ = [
    "EXAMPLES",
    "METHODS",
    "METRICS",
    "SAMPLES",
    "TRIALS",
    "Difference",
    "PairedTest",
    "SentenceComparison",
    "SystemComparison",
    "SystemResult",
    "compare_systems",
    "distinct_labels",
    "format_comparison",
    "numbered",
]
