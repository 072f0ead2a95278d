"""The event files of a run, as TensorBoard reads them."""

import html as html_library
from dataclasses import replace
from pathlib import Path

import pytest
from tensorboard.plugin_util import markdown_to_safe_html
from tensorboard.summary.writer import event_file_writer

from tests.support.event_files import curve, read_events
from translator.evaluation import Score, TranslatedPair
from translator.training.monitoring.event_file import event_file, isolate_persian, show_test_scores, translations_table


@pytest.fixture(autouse=True)
def ordered_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Event files of the same second are read in name order; a name ends in a count of the files of this process.

    The tenth writer would come before the ninth.
    """
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))


def test_a_restart_removes_later_points_of_earlier_files(tmp_path: Path) -> None:
    for start, loss in ((0, 3.0), (1, 2.0)):
        with event_file(tmp_path, start) as events:
            for step in range(start + 1, 4):
                events.add_scalar("loss/train", loss, step)
    assert curve(tmp_path, "loss/train") == [(1, 3.0), (2, 2.0), (3, 2.0)]


BLEU = Score(
    test_set="mizan",
    metric="bleu",
    score=30.0,
    signature="",
    normalization="raw",
    checkpoint="step-000020",
    sentences=1,
)


def test_raw_scores_of_a_step_are_plotted_and_those_of_the_first_test_set_compare_runs(tmp_path: Path) -> None:
    others = [
        replace(BLEU, score=31.0, normalization="normalizer-3 on both sides"),
        replace(BLEU, score=31.0, checkpoint="averaged"),
        replace(BLEU, metric="length_ratio"),
        replace(BLEU, test_set="tep"),
    ]
    show_test_scores(tmp_path, [BLEU, *others])
    tags = {"quality/test_bleu", "test_by_set/mizan/bleu", "test_by_set/mizan/length_ratio", "test_by_set/tep/bleu"}
    assert set(read_events(tmp_path).Tags()["scalars"]) == tags
    assert curve(tmp_path, "quality/test_bleu") == [(20, 30.0)]


# --- translations in Markdown ---

MARKUP = ["<script>alert(1)</script>", "a | b", "**bold**", "[x](javascript:y)", "`code`", "&amp;", "\\|", "$x$"]


@pytest.mark.parametrize("text", MARKUP)
def test_markup_in_a_table_is_shown_as_text(text: str) -> None:
    page = markdown_to_safe_html(translations_table([TranslatedPair(text, text, text)]))
    assert page.count("<td>") == 3
    cell = page.partition("<td>")[2].partition("</td>")[0]
    assert "<" not in cell
    assert html_library.unescape(cell) == text


@pytest.mark.parametrize(
    ("text", "like", "isolated"),
    [
        ("می‌روم.", None, "\u2067می‌روم.\u2069"),
        ("OK", "بله", "\u2067OK\u2069"),
        ("OK", None, "OK"),
        ("الف\u2069\u202e ب\nپ", None, "\u2067الف ب پ\u2069"),
    ],
)
def test_persian_text_is_isolated_as_right_to_left(text: str, like: str | None, isolated: str) -> None:
    assert isolate_persian(text, like) == isolated
    assert isolated in markdown_to_safe_html(isolated), "TensorBoard keeps the isolation"
