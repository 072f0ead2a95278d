"""The preparation report: a complete page that shows hostile text harmlessly."""

import json
from dataclasses import replace

import pytest

from tests.support.html_page import BIDI_CONTROLS, harmless
from tests.support.tiny_runs import tiny_config
from tests.support.toy_corpora import write_pairs
from translator.data import DataHandler
from translator.data.preparation_report import PreparationReport, preparation_report

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></details></main><iframe src=//example.org>",
    "{{ 7 * 7 }}{% raw %}",
    f"a{BIDI_CONTROLS}b",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> PreparationReport:
    """A report on the tiny corpus, on one of which hostile text is dropped, and on a test set."""
    folder = tmp_path_factory.mktemp("reported")
    odd = write_pairs(folder / "odd.tsv", [("".join(HOSTILE), ""), ("", "".join(HOSTILE)), ("good", "good")])
    news = write_pairs(folder / "news.tsv", [("kind", "kind")] * 3)
    sources = [
        {"name": "toy", "path": f"{folder}/toy.tsv"},
        {"name": "odd", "path": str(odd), "use": "train", "weight": 9},
    ]
    test_sets = [{"name": "news", "path": str(news)}]
    config = tiny_config(
        folder, f"corpus.sources={json.dumps(sources)}", f"evaluation.test_sets={json.dumps(test_sets)}"
    )
    return preparation_report(config, DataHandler(config))


def test_the_page_shows_each_fact_and_hostile_text_as_text(report: PreparationReport) -> None:
    page = harmless(report.page(), scripts=0)
    assert "default-src 'none'" in page.of("meta")[1]["content"]
    for text in HOSTILE[:-1]:
        assert page.text.count(text) == 2, text
    assert {"right-to-left override (U+202E)", "pop directional isolate (U+2069)"} <= set(page.titles)
    text = " ".join(page.text.split())
    for fact in (
        "203 sentence pairs of 2 sources",
        "201 99.0%",
        "odd 3 2 66.7% 1 0 0",
        "total 203 2 1.0% 161 20 20",
        "empty One side has no text. 0 2 66.7% 2 1.0%",
        "odd, line 1",
        "the test set news (3 pairs).",
        "more than 40 tokens",
        "9 9 9.00 times",
        report.corpus.fingerprint,
    ):
        assert fact in text, fact


def test_subwords_are_counted_on_validation_text(report: PreparationReport) -> None:
    """Each of the words has a piece for its start and one for each character; the length of a pair has its end too."""
    english, persian = report.subwords
    assert (english.side, persian.side) == ("English", "Persian")
    (validation,) = [lengths for lengths in report.lengths if lengths.split == "validation"]
    assert (english.words, english.pieces) == (20, validation.source_tokens - 20)
    assert english.pieces_per_word == english.pieces / 20


def test_an_uneven_mixture_is_a_table_of_its_own(report: PreparationReport) -> None:
    assert report.tables().count("mixture of an epoch") == 1
    even = [replace(row, drawn=row.pairs) for row in report.mixture]
    assert "mixture of an epoch" not in replace(report, mixture=even).tables()
