"""The tables of an evaluation, in each form, and the lines for a terminal show what a reader looks for."""

from dataclasses import replace

import pytest

from tests.support.translated_sets import translated, with_scores
from translator.config import NormalizationConfig
from translator.evaluation.compare import compare_systems
from translator.evaluation.metrics import compute_scores
from translator.evaluation.tables import Form, Table, evaluation_tables, format_tables
from translator.evaluation.terminal_report import format_scores
from translator.evaluation.text_variants import text_variants
from translator.subword.glossary import Glossary


def test_all_scores_fit_into_80_columns_and_their_columns_are_explained() -> None:
    text = translated(["یک دو سه چهار پنج شش هفت", "نه"], ["ده", "می\u200cرود"])
    scores = compute_scores(
        text.hypotheses,
        text.text.references,
        metrics=["bleu", "bleu_intl", "chrf", "chrf++", "ter", "length_ratio"],
        variants=text_variants(NormalizationConfig()),
        intervals=True,
    )
    lines = format_scores(text.with_scores(scores).scores)
    assert max(map(len, lines[: lines.index("")])) <= 80
    assert lines[0] == "held, step-000001 beam-5, 2 sentences"
    assert lines[1].split() == ["metric", "raw", "normalized", "ZWNJ", "as", "space"]
    for beginning in ("normalized: normalizer-", "ZWNJ as space: normalizer-", "signature of bleu: nrefs:"):
        assert any(line.startswith(beginning) for line in lines)


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
        ("markdown", ["a&#95;set &#124; x\n", "| a&#124;b      |     2 |", "50%\n"]),
        ("latex", ["% a_set | x", r"\begin{tabular}{lr}", r" bleu \& co &   1,5 \\", "% 50%"]),
        ("csv", ["a_set | x", "metric,raw", 'bleu & co,"1,5"', "a|b,2", "50%"]),
    ],
)
def test_a_table_has_the_same_cells_in_every_form(form: Form, lines: list[str]) -> None:
    shown = format_tables([TABLE], form)
    assert [line for line in lines if line not in shown] == []


def test_terms_with_their_translation_are_counted_beside_the_other_tables() -> None:
    text = translated(["کتاب و دفتر", "کتاب"], sources=["The book, a book and the lamp.", "The book."])
    tables = evaluation_tables(
        compare_systems([with_scores(text)]), glossary=Glossary({"book": "کتاب", "lamp": "چراغ"})
    )
    assert tables[-1].rows == [["terms", "2 of 4 (50.0%)"]]


def test_each_source_has_the_score_of_its_own_sentences() -> None:
    text = translated(["در باز است.", "باران می‌بارد.", "x"], ["در باز است.", "باران می‌بارد.", "دو عمو دارید."])
    mixed = replace(text, text=replace(text.text, origins=("novels", "novels", "news")))
    tables = evaluation_tables(compare_systems([with_scores(mixed)]))
    (by_source,) = [table for table in tables if "by source" in table.title]
    assert [list(row) for row in by_source.rows] == [["novels, 2 sentences", "100.00"], ["news, 1 sentences", "0.00"]]
