"""report.html is complete, loads nothing, and shows any text as text, never as markup."""

import base64
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.html_page import BIDI_CONTROLS, Page, harmless
from tests.support.translated_sets import scored
from translator.evaluation import evaluation_page as module
from translator.evaluation.compare import compare_systems
from translator.evaluation.evaluation_page import evaluation_page
from translator.evaluation.results import ScoredSet, distinct_names

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


def page_of(*sets: ScoredSet) -> str:
    comparisons = []
    if len(sets) > 1:
        comparisons = [compare_systems(sets, metrics=("chrf",))]
    systems = dict(zip(distinct_names(sets), sets, strict=True))
    return evaluation_page([systems], comparisons)


@pytest.fixture(scope="module")
def html() -> str:
    """The page of two systems on one test set."""
    return page_of(scored(HYPOTHESES), scored(HYPOTHESES, system="other"))


def check_safety(html: str) -> Page:
    assert not any(character in html for character in "\x00\x07\x1b\x85\u2028\ud83d")
    return harmless(html, scripts=1)


def test_the_page_has_all_tables_of_a_test_set(html: str) -> None:
    titles = "\n".join(check_safety(html).texts["bdi"])
    for title in ("held, 3 sentences", "differences and p-values against system", "held: sentences with mistakes"):
        assert title in titles


def test_ids_are_unique_and_every_link_leads_to_one(html: str) -> None:
    page = Page(html)
    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    assert {attributes["href"][1:] for attributes in page.of("a")} <= set(identities)


@pytest.mark.parametrize("text", ["nrefs:1|", "paired bootstrap", "latin words", ">NATO<"])
def test_the_page_shows_what_each_section_is_for(html: str, text: str) -> None:
    assert text in html


def test_both_systems_stand_below_one_sentence(html: str) -> None:
    items = [attributes.get("id", "") for attributes in Page(html).of("li")]
    assert [identity for identity in items if identity.startswith("s-")] == ["s-1-1", "s-1-2", "s-1-3"]


def test_texts_have_their_language_and_direction(html: str) -> None:
    paragraphs = [attributes for attributes in Page(html).of("p") if "lang" in attributes]
    assert {(attributes["lang"], attributes["dir"]) for attributes in paragraphs} == {("en", "ltr"), ("fa", "rtl")}


def test_the_policy_allows_only_the_script_of_the_page(html: str) -> None:
    (policy,) = (attributes["content"] for attributes in Page(html).of("meta") if "http-equiv" in attributes)
    script = html.rsplit("<script>", 1)[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    assert policy == (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        f"script-src 'sha256-{digest}'"
    )


@pytest.mark.parametrize("trick", TRICKS)
def test_the_page_escapes_hostile_text(trick: str) -> None:
    references = [(trick, "در"), ("دو", trick), ("باران", "برف")]
    sources = [trick, "b", "c"]
    test_set = scored(
        [trick, trick, "باران"], references, sources, test_set=trick, system=trick, checkpoint=trick, search=trick
    )
    page = check_safety(page_of(test_set))
    assert "49" not in "".join(page.texts["h1"])


@settings(deadline=None, max_examples=15)
@given(st.lists(st.text(st.characters() | st.sampled_from(BIDI_CONTROLS + "<>&\"'\u200c")), min_size=3, max_size=3))
def test_a_page_with_any_text_is_safe_html(texts: list[str]) -> None:
    check_safety(page_of(scored(texts, sources=texts)))


def test_the_page_of_one_system_marks_words_on_both_sides() -> None:
    html = page_of(scored(HYPOTHESES))
    assert "<del>دو</del>" in html
    assert "<ins>سه</ins>" in html


def test_the_page_of_a_large_test_set_shows_only_the_first_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SENTENCES", 2)
    html = page_of(scored(HYPOTHESES))
    assert "1 more sentences are in the saved files only" in html
    assert 's-1-2"' in html
    assert 's-1-3"' not in html
