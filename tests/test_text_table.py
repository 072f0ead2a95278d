"""Columns as wide as their widest cell."""

import pytest

from translator.text_table import excerpt, text_table


def test_text_on_the_left_and_numbers_on_the_right() -> None:
    rows = [("a", "long text", "1,000"), ("word", "b", "7")]
    assert text_table(("", "second", "count"), rows, text_columns=2).split("\n") == [
        "      second     count",
        "----------------------",
        "a     long text  1,000",
        "word  b              7",
    ]


def test_no_rows_and_no_space_at_the_ends_of_lines() -> None:
    assert text_table(("one", "two"), []) == "one  two\n--------"
    assert text_table(("one", "two"), [("x", "")]).split("\n")[2] == "x"


def test_a_row_of_another_length_is_a_bug() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        text_table(("one", "two"), [("only",)])


def test_excerpts_are_short_and_cannot_steer_a_terminal() -> None:
    assert excerpt("می\u200cروم\x1b[2J\u202e\n", 20) == "می\u200cروم\\x1b[2J\\u202e\\n"
    assert excerpt("a" * 21, 20) == "a" * 19 + "…"
