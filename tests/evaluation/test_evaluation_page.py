"""report.html is complete, loads nothing, and shows any text as text, never as markup."""

import base64
import dataclasses
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.html_page import BIDI_CONTROLS, harmless
from tests.support.translated_sets import translated, with_scores
from translator.evaluation.compare import compare_systems
from translator.evaluation.evaluation_page import evaluation_page
from translator.evaluation.results import ScoredSet
from translator.evaluation.tables import evaluation_tables

TRICKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!-- <script>",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
    "\u202eevil\u2066\u2069\u202c",
    "a\x00b\x07c\x1b[31md\x85e\u2028f",
    "\ud83d alone",
]
ANY_TEXT = st.sampled_from(TRICKS) | st.text(st.characters() | st.sampled_from(BIDI_CONTROLS + "<>&\"'\u200c"))
SOURCES = ("The door is open.", "You have two uncles.", "It rains.")
REFERENCES = ("در باز است.", "دو عمو دارید.", "باران می\u200cبارد.")
HYPOTHESES = ("در باز است.", "سه عمو داری.", "باران NATO")
FIRST = with_scores(translated(HYPOTHESES, REFERENCES, SOURCES))


def page_of(*sets: ScoredSet) -> str:
    comparison = compare_systems(sets, metrics=("chrf",))
    return evaluation_page([(comparison, evaluation_tables(comparison))])


def test_the_page_of_two_systems_has_all_tables_and_each_sentence_once() -> None:
    html = page_of(FIRST, dataclasses.replace(FIRST, system="other"))
    page = harmless(html, scripts=1)
    titles = "\n".join(page.texts["bdi"])
    for title in ("held, 3 sentences", "differences and p-values against system", "held: sentences with mistakes"):
        assert title in titles
    assert ">NATO<" in html, "a Latin word is marked"

    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    assert {attributes["href"][1:] for attributes in page.of("a")} <= set(identities)
    assert [identity for identity in identities if identity.startswith("s-")] == ["s-1-1", "s-1-2", "s-1-3"]
    paragraphs = [attributes for attributes in page.of("p") if "lang" in attributes]
    assert {(attributes["lang"], attributes["dir"]) for attributes in paragraphs} == {("en", "ltr"), ("fa", "rtl")}

    # The policy allows only the script of the page.
    (policy,) = (attributes["content"] for attributes in page.of("meta") if "http-equiv" in attributes)
    script = html.rsplit("<script>", 1)[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    assert policy == (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        f"script-src 'sha256-{digest}'"
    )


@settings(max_examples=25)
@given(st.lists(ANY_TEXT, min_size=3, max_size=3), st.sampled_from(TRICKS))
def test_a_page_with_any_text_is_safe_html(texts: list[str], trick: str) -> None:
    references = [(trick, "در"), ("دو", trick), ("باران", "برف")]
    pairs = translated(texts, references, texts, test_set=trick, system=trick, checkpoint=trick, search=trick)
    html = page_of(with_scores(pairs))
    assert not any(character in html for character in "\x00\x07\x1b\x85\u2028\ud83d")
    assert "49" not in "".join(harmless(html, scripts=1).texts["h1"])


def test_the_page_of_one_system_marks_words_of_references_and_shows_the_first_sentences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("translator.evaluation.evaluation_page.MAX_SENTENCES", 2)
    html = page_of(FIRST)
    assert "<del>دو</del>" in html
    assert "1 more sentences are in the saved files only" in html
    assert 's-1-2"' in html
    assert 's-1-3"' not in html
