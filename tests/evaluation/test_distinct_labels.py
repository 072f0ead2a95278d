"""Labels tell systems apart by run, checkpoint, search and number, and are no longer than needed."""

import pytest

from tests.support.translated_sets import translated
from translator.evaluation.results import distinct_labels


@pytest.mark.parametrize(
    ("systems", "labels"),
    [
        ([("a", "1", "beam-5"), ("b", "2", "greedy")], ("a", "b")),
        ([("a", "1", "beam-5"), ("a", "2", "beam-5"), ("b", "1", "x")], ("a 1", "a 2", "b")),
        ([("a", "1", "beam-5"), ("a", "1", "greedy")], ("a beam-5", "a greedy")),
        ([("a", "1", "x"), ("a", "1", "x"), ("a", "1", "x")], ("a", "a (2)", "a (3)")),
        (
            [("a", "1", "x"), ("a", "1", "y"), ("a", "2", "x"), ("a", "1", "x")],
            ("a 1 x", "a 1 y", "a 2 x", "a 1 x (2)"),
        ),
    ],
)
def test_labels_tell_systems_apart(systems: list[tuple[str, str, str]], labels: tuple[str, ...]) -> None:
    sets = []
    for system, checkpoint, search in systems:
        sets.append(translated(["نه"], system=system, checkpoint=checkpoint, search=search))
    assert distinct_labels(sets) == labels
