"""Diagnosis: any text is accepted, counts add up, correct text has no findings, the worst examples come first."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.translated_sets import HOSTILE, hostile_sets, model_score, translated
from translator.evaluation.diagnosis import diagnose
from translator.evaluation.mistakes.checks import CHECKS
from translator.evaluation.results import ScoredSet
from translator.evaluation.terminal_report import format_diagnosis
from translator.run.text import printable


@settings(deadline=None, max_examples=25)
@given(hostile_sets())
def test_any_text_is_diagnosed_and_the_counts_add_up(test_set: ScoredSet) -> None:
    diagnosis = diagnose(test_set)
    assert len(diagnosis.mistakes) == len(test_set.sources)

    # Two checks need the scores of the model.
    unchecked = set() if test_set.hypothesis_scores else {"unfinished", "search_errors"}
    assert diagnosis.possible.keys() == CHECKS.keys() - unchecked

    # The worst examples are sentences with the mistake.
    for name, count in diagnosis.counts().items():
        assert count <= diagnosis.possible[name] <= len(test_set.sources)
        worst = diagnosis.worst(name, 2)
        assert len(worst) == min(2, count)
        for number, _ in worst:
            assert name in diagnosis.mistakes[number - 1]

    # The result can be saved and printed.
    json.dumps(diagnosis.to_json(), allow_nan=False)
    for line in format_diagnosis(diagnosis):
        assert printable(line) == line


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE), min_size=1, max_size=5))
def test_a_hypothesis_equal_to_a_reference_has_no_findings(rows: list[tuple[str, str, str]]) -> None:
    sources, hypotheses, other_references = zip(*rows, strict=True)
    two_references = list(zip(hypotheses, other_references, strict=True))
    for references in (two_references, hypotheses):
        diagnosis = diagnose(translated(hypotheses, references, sources))
        assert not any(diagnosis.mistakes)


def test_search_errors_are_left_out_without_reference_scores() -> None:
    test_set = translated(["نه"], hypothesis_scores=(model_score("نه", -1.0, -1.0),))
    assert CHECKS.keys() - diagnose(test_set).possible.keys() == {"search_errors"}


@pytest.fixture(scope="module")
def repetition() -> dict[str, Any]:
    """The finding `repetition` of four sentences as JSON, with two examples."""
    hypotheses = ["او رفت رفت به خانه و ماند.", "نه نه نه نه نه\x1b[2J", "او به خانه رفت رفت.", "آری"]
    diagnosis = diagnose(translated(hypotheses, ["عصر با دوستانش به خانه رفت."] * 4))
    findings = diagnosis.to_json(examples=2)["findings"]
    return next(finding for finding in findings if finding["name"] == "repetition")


def test_json_counts_the_sentences_with_a_mistake(repetition: dict[str, Any]) -> None:
    assert (repetition["count"], repetition["of"]) == (3, 4)


def test_json_lists_the_worst_examples_first(repetition: dict[str, Any]) -> None:
    assert [example["sentence"] for example in repetition["examples"]] == [2, 3]
    assert repetition["examples"][0]["note"] == "4 of 6 words repeated: نه ×4"
