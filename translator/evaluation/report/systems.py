"""The systems of a report."""

from collections.abc import Sequence
from dataclasses import dataclass

from translator.evaluation.scored_set import ScoredSet


@dataclass(frozen=True)
class SystemRow:
    """A run as it translated."""

    label: str
    """Unlike that of any other system of the page."""
    run: str
    checkpoint: str
    search: str
    test_sets: Sequence[str]
    """What it translated."""


def systems(sets: Sequence[ScoredSet], labels: Sequence[str]) -> list[SystemRow]:
    """Return the systems of the sets, each once; `labels` are those of `distinct_labels`."""
    found: dict[str, SystemRow] = {}
    for one, label in zip(sets, labels, strict=True):
        known = found.get(label)
        test_sets = [*(known.test_sets if known else ()), one.test_set]
        found[label] = SystemRow(label, one.system, one.checkpoint, one.search, test_sets)
    return list(found.values())
