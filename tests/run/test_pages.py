"""Pages: hidden characters are shown, and small shares are no zero."""

import pytest

from tests.support.html_page import Page
from translator.run import pages
from translator.run.pages import visible


@pytest.mark.parametrize(
    ("character", "shown", "title"),
    [
        ("\u202e", "RLO", "right-to-left override (U+202E)"),
        ("\t", "TAB", "control character (U+0009)"),
        ("\U000e0041", "U+E0041", "tag latin capital letter a (U+E0041)"),
        ("\u200c", "\u200c", "zero width non-joiner (U+200C)"),
        ("\ufffd", "\ufffd", "replacement character (U+FFFD)"),
    ],
)
def test_hidden_and_lost_characters_are_marked_with_their_names(character: str, shown: str, title: str) -> None:
    page = Page(visible(f"a{character}b"))
    assert page.text == f"a{shown}b"
    assert page.titles == [title]


def test_a_small_share_is_never_shown_as_zero() -> None:
    assert pages._ENVIRONMENT.from_string("{{ x | percent }}").render(x=0.0004) == "&lt;0.1%"
