"""The lines for a terminal show the scores, findings and differences that a reader looks for."""

import pytest

from tests.support.translated_sets import scored, translated
from translator.config import NormalizationConfig
from translator.evaluation.compare import compare_systems
from translator.evaluation.diagnosis import diagnose
from translator.evaluation.terminal_report import (
    TranslatedPair,
    format_comparison,
    format_diagnosis,
    format_samples,
    format_scores,
)
from translator.evaluation.text_variants import text_variants

SOURCES = ["The door is open.", "He reads.", "She left.", "It is cold."]
REFERENCES = ["در باز است.", "او می‌خواند.", "او رفت.", "هوا سرد است."]
BASELINE = translated(["در باز است.", "او کتاب", "ماند", "سرد"], REFERENCES, SOURCES, system="a")
SYSTEM = translated(["در بسته است", "او می‌خواند.", "ماند", "هوا سرد است"], REFERENCES, SOURCES, system="b")


def test_scores_are_listed_above_their_signatures() -> None:
    test_set = scored(("در باز است.", "سه عمو داری.", "باران"))
    lines = format_scores(test_set.scores)
    assert lines[0].split() == ["test", "set", "metric", "search", "checkpoint", "raw"]
    assert [line.split(":")[0] for line in lines[-2:]] == ["bleu", "chrf"]


def test_a_sample_is_shown_on_three_lines() -> None:
    (sample,) = format_samples([TranslatedPair(source="Yes.\n", reference="بله.", hypothesis="نه.")])
    assert sample == "\n  source     Yes.\\n\n  reference  بله.\n  translated نه."


@pytest.fixture(scope="module")
def comparison_lines() -> list[str]:
    variants = text_variants(NormalizationConfig())[:2]
    comparison = compare_systems([BASELINE, SYSTEM], metrics=("bleu", "ter"), samples=20, trials=30, variants=variants)
    return format_comparison(comparison)


def test_a_comparison_begins_with_the_number_of_sentences_and_the_baseline(comparison_lines: list[str]) -> None:
    assert comparison_lines[0] == "held: 4 sentences; differences and p-values against a"


def test_a_comparison_has_a_row_for_each_text_metric_test_and_system(comparison_lines: list[str]) -> None:
    rows = [line for line in comparison_lines if "paired " in line and "|" not in line]
    assert len(rows) == 2 * 2 * 2 * 2
    assert any("ter (lower is better)" in row for row in rows)


@pytest.mark.parametrize("draws", ["|bs:20|seed:12345|", "|ar:30|seed:12345|"])
def test_a_comparison_has_the_signatures_of_its_tests(comparison_lines: list[str], draws: str) -> None:
    assert sum(draws in line for line in comparison_lines) == 4


def test_a_comparison_shows_wins_and_the_sentences_that_differ_most(comparison_lines: list[str]) -> None:
    place = comparison_lines.index("b against a by sentence (chrF, raw): 2 better, 1 worse, 1 alike")
    shown = comparison_lines[place + 2 : place + 8]
    assert shown[0] == "sentences for which b is better by most:"
    assert shown[2:6] == [
        "    source     He reads.",
        "    reference  او می‌خواند.",
        "    a: او کتاب",
        "    b: او می‌خواند.",
    ]


def test_a_diagnosis_shows_counts_and_shares() -> None:
    hypotheses = ["او رفت رفت به خانه و ماند.", "نه نه نه نه نه", "او به خانه رفت رفت.", "آری"]
    lines = format_diagnosis(diagnose(translated(hypotheses, ["عصر با دوستانش به خانه رفت."] * 4)))
    assert lines[0] == "Diagnosis of held, system, step-000001, beam-5"
    assert ["repetition", "3", "of", "4", "(75.0%)"] in [line.split() for line in lines]


def test_the_title_of_a_diagnosis_does_not_repeat_what_the_label_says() -> None:
    lines = format_diagnosis(diagnose(translated(["آری"])), "system step-000001")
    assert lines[0] == "Diagnosis of held, system step-000001, beam-5"
