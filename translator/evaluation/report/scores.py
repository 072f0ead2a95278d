"""The scores of the report: one table for each test set, the variants of the text side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from translator.evaluation.metrics import Score
from translator.evaluation.scored_set import ScoredSet

METRIC_NAMES: Final = {
    "bleu": "BLEU 13a",
    "bleu_intl": "BLEU intl",
    "chrf": "chrF",
    "chrf++": "chrF++",
    "ter": "TER",
    "length_ratio": "length ratio",
    "spbleu": "spBLEU",
    "comet": "COMET",
}
"""As the field writes them."""


@dataclass(frozen=True)
class ScoreRow:
    """One metric of one system."""

    metric: str
    first: bool
    """Whether it is the first row of its metric."""
    systems: int
    """Rows of the metric."""
    system: str
    scores: Sequence[Score | None]
    """For each variant of the text."""


@dataclass(frozen=True)
class ScoreTable:
    """All scores on one test set."""

    test_set: str
    sentences: int
    variants: Sequence[str]
    """What both sides went through before they were compared."""
    systems: int
    rows: Sequence[ScoreRow]
    signatures: Sequence[tuple[str, str]]
    """Each with the name of its metric."""


def score_tables(sets: Sequence[ScoredSet], labels: Sequence[str]) -> list[ScoreTable]:
    """Return a table for each test set; `labels` name the systems of the sets."""
    tests = dict.fromkeys(one.test_set for one in sets)
    return [
        _table(test, [(label, one) for one, label in zip(sets, labels, strict=True) if one.test_set == test])
        for test in tests
    ]


def metric_name(metric: str) -> str:
    """Return the name of a metric for a person."""
    return METRIC_NAMES.get(metric, metric)


def _table(test_set: str, systems: Sequence[tuple[str, ScoredSet]]) -> ScoreTable:
    scores = [score for _, one in systems for score in one.scores]
    variants = list(dict.fromkeys(score.normalization for score in scores))
    rows = []
    for metric in dict.fromkeys(score.metric for score in scores):
        having = [(label, one) for label, one in systems if any(score.metric == metric for score in one.scores)]
        rows += [
            ScoreRow(
                metric_name(metric),
                first=number == 0,
                systems=len(having),
                system=label,
                scores=[one.score(metric, variant) for variant in variants],
            )
            for number, (label, one) in enumerate(having)
        ]
    signatures = dict.fromkeys((metric_name(score.metric), score.signature) for score in scores)
    return ScoreTable(test_set, len(systems[0][1].sources), variants, len(systems), rows, list(signatures))
