"""Systems are compared only on the same sentences; wins and losses are counted on any text."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.translated_sets import HOSTILE, translated
from translator.errors import InputError
from translator.evaluation.compare import compare_systems
from translator.evaluation.metrics import show_score
from translator.evaluation.tables import significance_tables
from translator.evaluation.terminal_report import format_comparison
from translator.run.text import printable

SOURCES = ["The door is open.", "He reads.", "She left.", "It is cold."]
REFERENCES = ["در باز است.", "او می‌خواند.", "او رفت.", "هوا سرد است."]


@settings(max_examples=8)
@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE, HOSTILE), min_size=1, max_size=4))
def test_any_text_is_compared_saved_and_printed(rows: list[tuple[str, str, str, str]]) -> None:
    sources, references, first_hypotheses, second_hypotheses = zip(*rows, strict=True)
    first = translated(first_hypotheses, references, sources, system="first")
    second = translated(second_hypotheses, references, sources, system="second")
    comparison = compare_systems([first, second], metrics=("bleu", "chrf"))

    assert sum(comparison.count_sentences("second").values()) == len(rows)

    # The result can be saved and printed.
    json.dumps(comparison.to_json(), allow_nan=False)
    for line in format_comparison(comparison):
        assert printable(line) == line


def test_a_row_has_the_score_the_difference_and_the_p_values_of_both_methods() -> None:
    systems = [translated(lines, REFERENCES, SOURCES) for lines in (SOURCES, [*REFERENCES[:2], *SOURCES[2:]])]
    comparison = compare_systems(systems, metrics=("chrf",))
    ((_, row),) = [table.rows for table in significance_tables(comparison)]
    bootstrap, randomisation = (test.systems[1] for test in comparison.tests)
    p_values = [f"{result.p_value:.4f}" for result in (bootstrap, randomisation)]
    score = show_score("chrf", bootstrap.score, bootstrap.interval)
    assert list(row[2:]) == [*score.split(), f"{bootstrap.difference:+.2f}", *p_values]
    assert p_values[0] != p_values[1]


def test_systems_that_translated_texts_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="cannot be compared on `held`: they have 2 and 1 sentences; evaluate both"):
        compare_systems([translated(["یک", "دو"]), translated(["یک"])])
