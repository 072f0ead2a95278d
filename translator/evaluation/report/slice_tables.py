"""Scores of the parts of a test set, the systems side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from translator.evaluation.report.scores import metric_name
from translator.evaluation.scored_set import ScoredSet
from translator.evaluation.slices import Slice


@dataclass(frozen=True)
class SliceRow:
    """One part of a test set."""

    kind: str
    first: bool
    """Whether it is the first of its kind."""
    parts: int
    """Rows of the kind."""
    part: str
    sentences: int
    scores: Sequence[float | None]
    """For each column."""


@dataclass(frozen=True)
class SliceTable:
    """All parts of one test set."""

    test_set: str
    columns: Sequence[tuple[str, str]]
    """Metric and system."""
    systems: int
    rows: Sequence[SliceRow]


def slice_tables(
    sets: Sequence[ScoredSet], labels: Sequence[str], slices: Sequence[Sequence[Slice]]
) -> list[SliceTable]:
    """Return a table for each test set that has parts.

    Args:
        sets: all of the page.
        labels: of their systems.
        slices: of each set, in their order.
    """
    tables = []
    for test_set in dict.fromkeys(one.test_set for one in sets):
        systems = {
            label: parts
            for one, label, parts in zip(sets, labels, slices, strict=True)
            if one.test_set == test_set and parts
        }
        if systems:
            tables.append(_table(test_set, systems))
    return tables


def _table(test_set: str, systems: Mapping[str, Sequence[Slice]]) -> SliceTable:
    keys = list(dict.fromkeys((one.kind, one.part, one.sentences) for parts in systems.values() for one in parts))
    metrics = list(dict.fromkeys(metric for parts in systems.values() for one in parts for metric in one.scores))
    known = {
        (label, one.kind, one.part, one.sentences): one.scores for label, parts in systems.items() for one in parts
    }
    rows = []
    for number, (kind, part, sentences) in enumerate(keys):
        scores = [known.get((label, kind, part, sentences), {}).get(metric) for metric in metrics for label in systems]
        first = number == 0 or keys[number - 1][0] != kind
        rows.append(SliceRow(kind, first, sum(key[0] == kind for key in keys), part, sentences, scores))
    columns = [(metric_name(metric), label) for metric in metrics for label in systems]
    return SliceTable(test_set, columns, len(systems), rows)
