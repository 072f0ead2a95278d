"""report.html is complete, loads nothing, and shows any text as text, never as markup; Markdown tables do too."""

import base64
import hashlib
import html as html_library
import re

import pytest
from html_page import BIDI_CONTROLS, Page, harmless
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.plugin_util import markdown_to_safe_html
from translated_sets import scored

from translator.evaluation import report as module
from translator.evaluation.compare import compare_systems
from translator.evaluation.diagnosis import diagnose
from translator.evaluation.report import Table, evaluation_page, isolated, mark_differences, plain
from translator.evaluation.results import ScoredSet

TRICKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!-- <script>",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
    "\u202eevil\u2066\u2069\u202c",
    "a\x00b\x07c\x1b[31md\x85e\u2028f",
    "\ud83d alone",
    "سلام Hello ۱۲۳ 123 (در) [x]",
)
HYPOTHESES = ("در باز است.", "سه عمو داری.", "باران NATO")


def page_of(title: str, *sets: ScoredSet) -> str:
    compared = [compare_systems(sets, metrics=("chrf",), samples=20, trials=20)] if len(sets) > 1 else []
    return evaluation_page(title, sets, list(map(diagnose, sets)), compared, [f"{title} is missing"])


def whole_page() -> str:
    return page_of("run", scored(HYPOTHESES), scored(HYPOTHESES, system="other"))


def check_safety(html: str) -> Page:
    assert not any(character in html for character in "\x00\x07\x1b\x85\u2028\ud83d")
    return harmless(html, scripts=1)


def test_report_has_all_sections_with_unique_ids_and_working_links() -> None:
    html = whole_page()
    page = check_safety(html)
    assert page.texts["h2"] == ["Scores", "Parts of the test sets", "Comparisons", "Findings", "Sentences"]
    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    assert {attributes["href"][1:] for attributes in page.of("a")} <= set(identities)
    for text in ("run is missing", "over 25%", "nrefs:1|", "paired bootstrap", "latin words", ">NATO<"):
        assert text in html
    rows = [attributes["id"] for attributes in page.of("li") if attributes.get("id", "").startswith("s-")]
    assert rows == ["s-1-1", "s-1-2", "s-1-3"], "both systems stand below one sentence"
    sides = {(attributes.get("lang"), attributes.get("dir")) for attributes in page.of("p") if "lang" in attributes}
    assert sides == {("en", "ltr"), ("fa", "rtl")}


def test_report_policy_allows_only_its_own_script_and_no_requests() -> None:
    html = whole_page()
    (policy,) = (one["content"] for one in Page(html).of("meta") if "http-equiv" in one)
    script = html.rsplit("<script>", 1)[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    assert policy == (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        f"script-src 'sha256-{digest}'"
    )
    assert not re.search(r"https?:|url\(|@import", html)


@pytest.mark.parametrize("trick", TRICKS)
def test_report_escapes_hostile_text(trick: str) -> None:
    names = {"test_set": trick, "system": trick, "checkpoint": trick, "search": trick}
    one = scored([trick, trick, "باران"], [(trick, "در"), ("دو", trick), ("باران", "برف")], [trick, "b", "c"], **names)
    assert "49" not in "".join(check_safety(page_of(trick, one)).texts["h1"])


@settings(deadline=None, max_examples=15)
@given(st.lists(st.text(st.characters() | st.sampled_from(BIDI_CONTROLS + "<>&\"'\u200c")), min_size=3, max_size=3))
def test_report_with_any_text_is_safe_html(texts: list[str]) -> None:
    check_safety(page_of("any", scored(texts, sources=texts)))


def test_report_of_a_large_test_set_shows_only_the_first_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SENTENCES", 2)
    html = page_of("many", scored(HYPOTHESES))
    assert "1 more sentences are in the saved files only" in html
    assert "<del>دو</del>" in html and "<ins>سه</ins>" in html
    assert 's-1-2"' in html and 's-1-3"' not in html


@pytest.mark.parametrize(
    ("text", "others", "marked"),
    [
        ("او سیب دارد", ["او موز دارد."], "او <ins>سیب</ins> دارد"),
        ("a b c", ["c"], "<ins>a b</ins> c"),
        ("در باز است", ["x", "در بسته است"], "در <ins>باز</ins> است"),
        ("<b> x", ["x"], "<ins>&lt;b&gt;</ins> x"),
    ],
)
def test_differences_are_marked_against_the_most_similar_text(text: str, others: list[str], marked: str) -> None:
    assert mark_differences(text, others, "ins") == marked


@settings(deadline=None)
@given(*[st.text(st.sampled_from("ab .\u200cدر،\U0001f642"))] * 2)
def test_marking_differences_loses_no_character(text: str, other: str) -> None:
    assert re.sub("<[^>]*>", "", mark_differences(text, [other], "ins")) == text


# --- Markdown ---

NASTY = ["<script>alert(1)</script>", "a | b", "**bold**", "[x](javascript:y)", "`code`", "&amp;", "\\|", "$x$"]


@pytest.mark.parametrize("text", NASTY)
def test_markup_in_a_markdown_table_is_shown_as_text(text: str) -> None:
    page = markdown_to_safe_html(Table(("a", "b"), [(plain(text), isolated(text))]).markdown())
    assert page.count("<td>") == 2
    cell = page.partition("<td>")[2].partition("</td>")[0]
    assert "<" not in cell
    assert html_library.unescape(cell) == text


def test_persian_text_is_always_isolated_as_right_to_left() -> None:
    assert isolated("می‌روم.") == isolated("می‌روم.", like="بله") == "\u2067می‌روم.\u2069"
    assert isolated("OK", like="بله") == "\u2067OK\u2069" and isolated("OK") == "OK"
    assert isolated("الف\u2069\u202e ب\nپ") == "\u2067الف ب پ\u2069"
    assert "\u2067سلام.\u2069" in markdown_to_safe_html(isolated("سلام."))
