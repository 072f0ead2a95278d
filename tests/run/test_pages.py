"""Pages: templates escape everything, hidden characters are shown, scripts cannot break out of the page."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from tests.support.html_page import BIDI_CONTROLS, Page
from translator.run import pages
from translator.run.pages import visible

HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
ANY_TEXT = st.text(st.characters() | st.sampled_from(BIDI_CONTROLS + "\u200c\ufffd\t<>&\"'"))


def hidden_characters(text: str) -> list[str]:
    return [character for character in text if unicodedata.category(character) in HIDDEN]


def render(source: str, **values: object) -> str:
    return pages._ENVIRONMENT.from_string(source).render(values)


@pytest.mark.parametrize(
    ("source", "value", "page"),
    [
        ("<b>{{ x }}</b>", "<script>&\"'", "<b>&lt;script&gt;&amp;&#34;&#39;</b>"),
        ("{{ x | visible }}", "<script>", "&lt;script&gt;"),
        ("{{ x }}", Markup("<svg></svg>"), "<svg></svg>"),
        ('<i title="{{ x }}">', '\u202e"', '<i title="\\u202e&#34;">'),
        ("{{ x | percent }}", 0.0004, "&lt;0.1%"),
    ],
)
def test_template_values_are_escaped_and_formatted(source: str, value: object, page: str) -> None:
    assert render(source, x=value) == page


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


@settings(max_examples=200)
@given(ANY_TEXT)
def test_visible_marks_hidden_characters_and_keeps_others_in_any_text(text: str) -> None:
    page = Page(visible(text))
    assert {tag for tag, _ in page.elements} <= {"bdi", "span"}
    assert hidden_characters(page.text.replace("\u200c", "")) == []
    assert len(page.titles) >= len(hidden_characters(text))
    if not page.titles and not set(text) & set("<>&\"'"):
        assert visible(text) == text

    # The page shows the other characters of the text in their order.
    shown_characters = iter(page.text)
    for character in text:
        if unicodedata.category(character) not in (*HIDDEN, "Zs"):
            assert character in shown_characters
