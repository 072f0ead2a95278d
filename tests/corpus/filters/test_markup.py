"""Addresses, tags and code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.corpus.filters.markup import markup, markup_share
from translator.corpus.filters.sides import Sides


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ("See http://example.org/a/long/address", True),
        ("www.example.org", True),
        ("Write to somebody.long@example.org", True),
        ('<div class="box"><b>Enter</b></div>', True),
        ("&lt;&nbsp;&#160;&gt; or", True),
        (r"Max: $Y=\max(X_1,X_2)$", True),
        ("return object.toString();", True),
        ("[[File:somebody.jpg]]", True),
        ("{{cite|book|year=1990}}", True),
        ("Press <b>Enter</b> to go on with the next one.", False),
        ("Salt & pepper, and/or oil; 3 < 4 = true", False),
        ("(Revelation);", False),
        ("By the Mount (of Revelation);", False),
        ("convert_dir_to_date is a name", False),
        ("He paid $5 (or $6) @ noon.", False),
    ],
)
def test_markup_on_either_side(text: str, dropped: bool) -> None:
    assert markup(0.5)(Sides.of(text, "در باز است.")) is dropped
    assert markup(0.5)(Sides.of("The door is open.", text)) is dropped


def test_share_of_characters() -> None:
    assert markup_share("abcd <i>") == pytest.approx(3 / 7)
    assert markup_share("") == markup_share("  ") == 0.0
    assert markup_share("https://a.b") == 1.0


@given(st.text(alphabet="ab <>/@.&;{}()[]=|\\w#!-:", max_size=60))
def test_the_quick_look_misses_nothing(text: str) -> None:
    share = markup_share(text)
    assert 0.0 <= share <= 1.0
    assert markup(0.0)(Sides.of(text, "در")) is (share > 0.0)
