"""The tables of an evaluation, in each form, and the lines for a terminal show what a reader looks for."""

import csv

import pytest

from tests.support.few_draws import RESAMPLES, TRIALS
from tests.support.translated_sets import scored, translated
from translator.config import NormalizationConfig
from translator.evaluation.compare import compare_systems
from translator.evaluation.metrics import compute_scores
from translator.evaluation.tables import Form, Table, format_tables, mistake_table
from translator.evaluation.terminal_report import TranslatedPair, format_comparison, format_samples, format_scores
from translator.evaluation.text_variants import text_variants

SOURCES = ["The door is open.", "He reads.", "She left.", "It is cold."]
REFERENCES = ["در باز است.", "او می‌خواند.", "او رفت.", "هوا سرد است."]
BASELINE = translated(["در باز است.", "او کتاب", "ماند", "سرد"], REFERENCES, SOURCES, system="a")
SYSTEM = translated(["در بسته است", "او می‌خواند.", "ماند", "هوا سرد است"], REFERENCES, SOURCES, system="b")


def test_scores_are_listed_above_their_signatures() -> None:
    lines = format_scores(scored(("در باز است.", "سه عمو داری.", "باران")).scores)
    assert lines[0] == "held, step-000001 beam-5, 3 sentences"
    assert lines[1].split() == ["metric", "raw"]
    assert lines[-2].startswith("signature of bleu: nrefs:")
    assert lines[-1].startswith("signature of chrf: nrefs:")


def test_all_scores_fit_into_80_columns_and_their_columns_are_explained() -> None:
    scores = compute_scores(
        ["یک دو سه چهار پنج شش هفت", "نه"],
        [("ده",), ("می\u200cرود",)],
        metrics=["bleu", "bleu_intl", "chrf", "chrf++", "ter", "length_ratio"],
        variants=text_variants(NormalizationConfig()),
        intervals=True,
    )
    lines = format_scores(scores)
    assert max(map(len, lines[: lines.index("")])) <= 80
    assert lines[1].split() == ["metric", "raw", "normalized", "ZWNJ", "as", "space"]
    assert any(line.startswith("normalized: normalizer-") for line in lines)
    assert any(line.startswith("ZWNJ as space: normalizer-") for line in lines)


def test_a_sample_is_shown_on_three_lines() -> None:
    (sample,) = format_samples([TranslatedPair(source="Yes.\n", reference="بله.", hypothesis="نه.")])
    assert sample == "\n  source     Yes.\\n\n  reference  بله.\n  translated نه."


TABLE = Table(
    title="a_set | x",
    header=["metric", "raw"],
    rows=[["bleu & co", "1,5"], ["a|b", "2"]],
    notes=["50%"],
)


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("text", ["a_set | x", "metric     raw", "bleu & co  1,5", "50%"]),
        ("markdown", ["| a&#124;b      |     2 |", "- 50%"]),
        ("latex", ["% a_set | x", r"\begin{tabular}{lr}", r" bleu \& co &   1,5 \\", "% 50%"]),
        ("csv", ["a_set | x", "metric,raw", 'bleu & co,"1,5"', "a|b,2", "50%"]),
    ],
)
def test_a_table_has_the_same_cells_in_every_form(form: Form, lines: list[str]) -> None:
    shown = format_tables([TABLE], form)
    assert [line for line in lines if line not in shown] == []


def test_a_table_as_csv_is_read_back() -> None:
    rows = list(csv.reader(format_tables([TABLE], "csv")))
    assert rows[1:4] == [TABLE.header, *TABLE.rows]


@pytest.fixture(scope="module")
def comparison_lines() -> list[str]:
    variants = dict(list(text_variants(NormalizationConfig()).items())[:2])
    return format_comparison(compare_systems([BASELINE, SYSTEM], metrics=("bleu", "ter"), variants=variants))


def test_a_comparison_begins_with_the_number_of_sentences_and_the_baseline(comparison_lines: list[str]) -> None:
    assert comparison_lines[0] == "held: 4 sentences; differences and p-values against a; text: raw"


def test_a_comparison_has_a_row_for_each_text_metric_and_system(comparison_lines: list[str]) -> None:
    rows = [line.split() for line in comparison_lines if line.startswith(("bleu ", "ter "))]
    assert [row[:2] for row in rows] == 2 * [["bleu", "a"], ["bleu", "b"], ["ter", "a"], ["ter", "b"]]
    assert all(row[-2] != "–" and row[-1] != "–" for row in rows if row[1] == "b"), "a p-value of each test"
    assert "lower is better: ter" in comparison_lines


@pytest.mark.parametrize("draws", [f"|bs:{RESAMPLES}|seed:12345|", f"|ar:{TRIALS}|seed:12345|"])
def test_a_comparison_has_the_signatures_of_its_tests(comparison_lines: list[str], draws: str) -> None:
    assert sum(draws in line for line in comparison_lines) == 2, "of BLEU and TER"


def test_a_comparison_shows_wins_and_the_sentences_that_differ_most(comparison_lines: list[str]) -> None:
    assert "b against a by sentence (chrF, raw): 2 better, 1 worse, 1 alike" in comparison_lines
    place = comparison_lines.index("sentences for which b is better than a by most:")
    shown = comparison_lines[place : place + 6]
    assert shown[2:6] == [
        "    source     He reads.",
        "    reference  او می‌خواند.",
        "    a: او کتاب",
        "    b: او می‌خواند.",
    ]


def test_mistakes_are_shown_with_counts_and_shares() -> None:
    hypotheses = ["او رفت رفت رفت به خانه.", "نه نه نه نه نه", "او به خانه رفت رفت رفت.", ""]
    test_set = translated(hypotheses, ["عصر با دوستانش به خانه رفت."] * 4, ["He went home."] * 4)
    lines = format_tables([mistake_table({"system": test_set})])
    assert lines[0] == "held: sentences with mistakes"
    rows = [line.split() for line in lines]
    assert ["loop", "3", "of", "4", "(75.0%)"] in rows
    assert ["empty", "1", "of", "4", "(25.0%)"] in rows
