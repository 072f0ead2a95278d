"""Hidden characters on a page: each is shown, none is obeyed, and the text is never markup."""

import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.pages.visible import marks, plain, visible

BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
ANY_TEXT = st.text(st.characters() | st.sampled_from(BIDI_CONTROLS + "\u200c\ufffd\t<>&\"'"))


class Reader(HTMLParser):
    """Collects what a browser would show, and the elements."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.shown = ""
        self.titles: list[str] = []
        self.tags: set[str] = set()
        self.feed(str(html))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.titles += [value or "" for name, value in attrs if name == "title"]

    def handle_data(self, data: str) -> None:
        self.shown += data


@pytest.mark.parametrize(
    ("character", "name", "title"),
    [
        ("\u202e", "RLO", "right-to-left override (U+202E)"),
        ("\u2067", "RLI", "right-to-left isolate (U+2067)"),
        ("\u061c", "ALM", "arabic letter mark (U+061C)"),
        ("\u06dd", "U+06DD", "arabic end of ayah (U+06DD)"),
        ("\t", "TAB", "tab (U+0009)"),
        ("\x00", "U+0000", "no name (U+0000)"),
        ("\u00a0", "NBSP", "no-break space (U+00A0)"),
        ("\u2003", "U+2003", "em space (U+2003)"),
        ("\u2028", "LS", "line separator (U+2028)"),
        ("\ue123", "U+E123", "no name (U+E123)"),
        ("\U000e0041", "U+E0041", "tag latin capital letter a (U+E0041)"),
    ],
)
def test_marks(character: str, name: str, title: str) -> None:
    page = Reader(visible(f"a{character}b"))
    assert page.shown == f"a{name}b"
    assert page.titles == [title]
    assert plain(f"a{character}b") == f"a⟨{name}⟩b"


def test_a_zwnj_is_marked_and_stays() -> None:
    page = Reader(visible("می\u200cروم"))
    assert page.shown == "می\u200cروم"
    assert page.titles == ["zero width non-joiner (U+200C)"]


def test_a_lost_character_is_marked() -> None:
    page = Reader(visible("a\ufffdb"))
    assert page.shown == "a\ufffdb"
    assert page.titles == ["replacement character (U+FFFD)"]


@pytest.mark.parametrize("text", ["The door is open.", "«در باز است؟» ۱۲۳", "naïve — “yes” … ½ €", "سَلامٌ", "日本 🙂"])
def test_what_can_be_seen_stays_as_it_is(text: str) -> None:
    assert visible(text) == plain(text) == text


@settings(deadline=None, max_examples=300)
@given(ANY_TEXT)
def test_any_text(text: str) -> None:
    page = Reader(visible(text))
    assert page.tags <= {"bdi", "span"}
    for shown in (page.shown.replace("\u200c", ""), plain(text)):
        assert not any(unicodedata.category(character) in HIDDEN for character in shown)
    assert len(page.titles) >= sum(unicodedata.category(character) in HIDDEN for character in text)
    seen = [character for character in text if unicodedata.category(character) not in (*HIDDEN, "Zs")]
    remaining = iter(page.shown)
    assert all(character in remaining for character in seen)


@settings(deadline=None, max_examples=300)
@given(ANY_TEXT)
def test_a_script_that_puts_marks_into_a_text_shows_the_same(text: str) -> None:
    found = marks([text])
    shown = "".join(found[character].text if character in found else character for character in text)
    page = Reader(visible(text))
    assert shown == page.shown
    assert [found[character].title for character in text if character in found] == page.titles
