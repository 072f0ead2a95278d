"""The lines for a terminal show the scores, findings and differences that a reader looks for."""

from dataclasses import replace

import pytest

from tests.support.translated_sets import scored, translated
from translator.config import NormalizationConfig
from translator.evaluation.compare import compare_systems
from translator.evaluation.diagnosis import diagnose
from translator.evaluation.metrics import compute_scores
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
    scores = [replace(score, test_set="held", search="beam-5", checkpoint="step-5") for score in test_set.scores]
    lines = format_scores(scores)
    assert lines[0] == "held, beam-5, step-5"
    assert lines[1].split() == ["metric", "raw"]
    assert [lines[-4], lines[-2]] == ["signature of bleu:", "signature of chrf:"]
    assert all(line.startswith("nrefs:") for line in (lines[-3], lines[-1]))


def test_all_scores_fit_into_80_columns_and_their_columns_are_explained() -> None:
    scores = compute_scores(
        ["یک دو سه چهار پنج شش هفت", "نه"],
        ["ده", "می\u200cرود"],
        metrics=["bleu", "bleu_intl", "chrf", "chrf++", "ter", "length_ratio"],
        normalization=NormalizationConfig(),
        bootstrap_samples=10,
        test_set="held",
    )
    lines = format_scores(scores)
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == ["metric", "raw", "normalized", "ZWNJ", "as", "space"]
    assert any(line.startswith("normalized: normalizer-") for line in lines)
    assert any(line.startswith("ZWNJ as space: normalizer-") for line in lines)
    assert lines[-1] == "signatures of bleu_intl, chrf++, ter, length_ratio: in scores.json"


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


def test_a_comparison_has_a_row_for_each_text_metric_and_system(comparison_lines: list[str]) -> None:
    rows = [line.split() for line in comparison_lines if line.startswith(("bleu ", "ter "))]
    assert [row[:2] for row in rows] == 2 * [["bleu", "a"], ["bleu", "b"], ["ter", "a"], ["ter", "b"]]
    assert all(row[-2] != "–" and row[-1] != "–" for row in rows if row[1] == "b"), "a p-value of each test"
    assert "lower is better: ter" in comparison_lines


@pytest.mark.parametrize("draws", ["|bs:20|seed:12345|", "|ar:30|seed:12345|"])
def test_a_comparison_has_the_signatures_of_its_tests(comparison_lines: list[str], draws: str) -> None:
    assert sum(draws in line for line in comparison_lines) == 1
    assert "signatures of ter: in the file of translator compare --json FILE" in comparison_lines


def test_a_comparison_of_systems_with_long_names_fits_into_80_columns() -> None:
    names = [f"a-run-with-a-long-name-{number}" for number in (1, 2)]
    systems = [replace(BASELINE, system=names[0]), replace(SYSTEM, system=names[1])]
    lines = format_comparison(compare_systems(systems, samples=20, trials=30))
    assert f"system 2: {names[1]}" in lines
    tables = lines[: lines.index("signature of bleu, paired bootstrap:")]
    assert max(map(len, tables)) <= 80


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
