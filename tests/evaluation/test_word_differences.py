"""Words that differ from the most similar text are marked, and no character is lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.evaluation.word_differences import mark_differences


@pytest.mark.parametrize(
    ("text", "other_texts", "marked"),
    [
        ("او سیب دارد", ["او موز دارد."], "او <ins>سیب</ins> دارد"),
        ("a b c", ["c"], "<ins>a b</ins> c"),
        ("در باز است", ["x", "در بسته است"], "در <ins>باز</ins> است"),
        ("<b> x", ["x"], "<ins>&lt;b&gt;</ins> x"),
    ],
)
def test_differences_are_marked_against_the_most_similar_text(text: str, other_texts: list[str], marked: str) -> None:
    assert mark_differences(text, other_texts, "ins") == marked


@given(*[st.text(st.sampled_from("ab .\u200cدر،\U0001f642"))] * 2)
def test_marking_differences_loses_no_character(text: str, other_text: str) -> None:
    assert re.sub("<[^>]*>", "", mark_differences(text, [other_text], "ins")) == text
