"""Markdown for TensorBoard shows any text as text, and Persian from right to left."""

import html as html_library

import pytest
from tensorboard.plugin_util import markdown_to_safe_html

from translator.evaluation.tables import Table, format_tables
from translator.training.monitoring.event_file import isolate_persian

MARKUP = ["<script>alert(1)</script>", "a | b", "**bold**", "[x](javascript:y)", "`code`", "&amp;", "\\|", "$x$"]


@pytest.mark.parametrize("text", MARKUP)
def test_markup_in_a_table_is_shown_as_text(text: str) -> None:
    lines = format_tables([Table(title=text, header=["a", "b"], rows=[[text, text]])], "markdown")
    page = markdown_to_safe_html("\n".join(lines))
    assert page.count("<td>") == 2
    cell = page.partition("<td>")[2].partition("</td>")[0]
    assert "<" not in cell
    assert html_library.unescape(cell) == text


@pytest.mark.parametrize(
    ("text", "like", "isolated"),
    [
        ("می‌روم.", None, "\u2067می‌روم.\u2069"),
        ("می‌روم.", "بله", "\u2067می‌روم.\u2069"),
        ("OK", "بله", "\u2067OK\u2069"),
        ("OK", None, "OK"),
        ("الف\u2069\u202e ب\nپ", None, "\u2067الف ب پ\u2069"),
    ],
)
def test_persian_text_is_isolated_as_right_to_left(text: str, like: str | None, isolated: str) -> None:
    assert isolate_persian(text, like) == isolated


def test_tensorboard_keeps_the_isolation() -> None:
    assert "\u2067سلام.\u2069" in markdown_to_safe_html(isolate_persian("سلام."))
