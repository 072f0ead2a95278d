"""Corpus text in Markdown is shown, never obeyed."""

import html

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.plugin_util import markdown_to_safe_html

from translator.evaluation.markdown import persian, plain, table

NASTY = [
    "<script>alert(1)</script>",
    "a | b",
    "**bold**",
    "[x](javascript:y)",
    "`code`",
    "![i](u)",
    "&amp;",
    "\\|",
    "$x$",
]


@pytest.mark.parametrize("text", NASTY)
def test_markup_is_shown_as_text(text: str) -> None:
    page = markdown_to_safe_html(table(("a", "b"), [(plain(text), persian(text))]))
    assert page.count("<td>") == 2
    cell = page.partition("<td>")[2].partition("</td>")[0]
    assert "<" not in cell
    assert html.unescape(cell) == text


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=40))
def test_any_text_stays_in_its_cell(text: str) -> None:
    page = markdown_to_safe_html(table(("a", "b"), [(plain(text), persian(text))] * 2))
    assert page.count("<td>") == 4


def test_persian_is_set_from_right_to_left_whatever_it_contains() -> None:
    assert persian("سلام.") == "\u2067سلام.\u2069"
    assert persian("الف\u2069\u202e ب\nپ") == "\u2067الف ب پ\u2069"
    assert "\u2067سلام.\u2069" in markdown_to_safe_html(persian("سلام."))


def test_zwnj_stays() -> None:
    assert plain("می‌روم") == "می‌روم"
