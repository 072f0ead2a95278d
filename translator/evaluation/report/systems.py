"""The systems of a report: how they are told apart, and what they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from translator.evaluation.scored_set import ScoredSet


@dataclass(frozen=True)
class System:
    """A run as it translated."""

    label: str
    """Unlike that of any other system of the page."""
    run: str
    checkpoint: str
    search: str
    test_sets: Sequence[str]
    """What it translated."""


def system_labels(sets: Sequence[ScoredSet]) -> list[str]:
    """Return for each set the name of its system, with checkpoint and search where one run has several."""
    labels = []
    for one in sets:
        same = [other for other in sets if other.system == one.system]
        parts = [one.system]
        if len({other.checkpoint for other in same}) > 1:
            parts.append(one.checkpoint)
        if len({other.search for other in same}) > 1:
            parts.append(one.search)
        labels.append(" ".join(parts))
    return labels


def systems(sets: Sequence[ScoredSet], labels: Sequence[str]) -> list[System]:
    """Return the systems of the sets, each once; `labels` are those of `system_labels`."""
    found: dict[str, System] = {}
    for one, label in zip(sets, labels, strict=True):
        known = found.get(label)
        test_sets = [*(known.test_sets if known else ()), one.test_set]
        found[label] = System(label, one.system, one.checkpoint, one.search, test_sets)
    return list(found.values())
