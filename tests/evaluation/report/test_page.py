"""The page: everything is there, it asks nobody for anything, and no text of a corpus is taken for markup or obeyed."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

import pytest
from evaluation.report.scored_sets import HYPOTHESES, SOURCES, scored_set
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.evaluation.comparison import compare_systems
from translator.evaluation.diagnosis import diagnose
from translator.evaluation.report import LearningCurve, evaluation_page
from translator.evaluation.report.page import ROWS
from translator.evaluation.slices import Slice

BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
TRICKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
    "\u202eevil\u2066\u2069\u202c",
    "a\x00b\x07c\x1b[31md\x85e\u2028f",
    "🙂👩\u200d👩\u200d👧 \U0001f1ee\U0001f1f7",
    "\ud83d alone",
    "سلام Hello ۱۲۳ 123 (در) [x]",
)


class Page(HTMLParser):
    """What a browser makes of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "input", "br", "wbr"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._open[-1] if self._open else "", []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def data(self) -> Any:
        return json.loads(self.texts["script"][0])


def whole_page(hypotheses: Sequence[str] = HYPOTHESES) -> str:
    sets = [scored_set(), scored_set(hypotheses, system="other")]
    part = Slice("small", "step-000010", "beam-5", "length", "1–5 words", 3, {"bleu": 12.345})
    return evaluation_page(
        "Evaluation of run",
        sets,
        [diagnose(one) for one in sets],
        [compare_systems(sets, metrics=("chrf",), samples=20, trials=20)],
        [LearningCurve("run", {"loss": ((10, 5.0), (20, 4.0)), "chrf": ((20, 33.0),), "training loss": ((5, 6.0),)})],
        slices=[[part], [part]],
        missing=["COMET is missing"],
        settings={"run": {"model.d_model": "128"}},
    )


def check_safety(html: str) -> Page:
    """Assert that nothing on the page is not ours."""
    page = Page(html)
    html.encode("utf-8")
    assert [attributes.get("type") for attributes in page.all("script")] == ["application/json", None]
    assert not {"img", "iframe", "object", "embed", "link", "base", "form", "a:href"} & {
        tag for tag, _ in page.elements
    }
    for _, attributes in page.elements:
        assert not any(name.startswith("on") or name in ("src", "style", "srcset", "action") for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert not any(character in html for character in BIDI_CONTROLS + "\x00\x07\x1b\x85\u2028\ud83d")
    return page


def test_everything_is_there() -> None:
    html = whole_page()
    page = check_safety(html)
    headings = [text.strip() for text in page.texts["h2"]]
    assert headings == [
        "Scores",
        "Systems and their settings",
        "Scores of parts",
        "Comparisons",
        "Findings",
        "Learning curve",
        "Lengths and sentence scores",
        "Sentences",
        "Made with",
    ]
    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    for attributes in page.all("a"):
        target = (attributes["href"] or "")[1:]
        assert target in identities or re.fullmatch(r"found-[12]-\w+", target)
    for svg in page.all("svg"):
        assert svg.get("aria-hidden") == "true" or svg["role"] == "img"
    for said in ("COMET is missing", "model.d_model", "12.35", "nrefs:1|", "paired bootstrap", "latin words"):
        assert said in html


def test_only_its_own_script_may_run_and_nothing_may_be_asked_for() -> None:
    html = whole_page()
    policy = next(
        attributes["content"] or ""
        for attributes in Page(html).all("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    script = html.rsplit("<script>", 1)[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    assert policy == (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        f"script-src 'sha256-{digest}'"
    )
    assert "http:" not in html and "https:" not in html and "url(" not in html and "@import" not in html


@pytest.mark.parametrize("trick", TRICKS)
def test_no_text_is_markup(trick: str) -> None:
    one = scored_set(
        [trick, trick, "باران"],
        sources=[trick, *SOURCES[1:]],
        references=[(trick, "در"), ("دو", trick), ("باران", "برف")],
        test_set=trick,
        system=trick,
        checkpoint=trick,
        search=trick,
    )
    curve = LearningCurve(trick, {"loss": ((1, 1.0),)})
    html = evaluation_page(
        trick, [one], [diagnose(one)], (), [curve], missing=[trick], settings={trick: {trick: trick}}
    )
    page = check_safety(html)
    if "\ud83d" not in trick:
        assert page.data["sets"][0]["test"] == trick
        assert trick in "".join(page.data["sources"][0][0])
    assert "49" not in "".join(page.texts["h1"])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text(st.characters() | st.sampled_from(BIDI_CONTROLS + "<>&\"'\u200c")), min_size=3, max_size=3))
def test_any_text(texts: list[str]) -> None:
    page = Page(evaluation_page("any", [scored_set(texts, sources=texts)]))
    assert ["".join(source) for source in page.data["sources"][0]] == texts
    assert ["".join(pieces) for pieces in page.data["sets"][0]["hypotheses"]] == texts


def test_a_very_long_sentence_is_cut_visibly_and_there_whole() -> None:
    text = "یک دو سه چهار پنج " * 5600
    html = evaluation_page("long", [scored_set([text, *HYPOTHESES[1:]])])
    page = check_safety(html)
    shown = page.data["sets"][0]["hypotheses"][0]
    assert "".join(shown["head"]) + "".join(shown["rest"]) == text
    assert len("".join(shown["head"])) == 600
    assert f"… {len(text) - 600:,} more characters" in [text.strip() for text in page.texts["summary"]]


def test_without_a_script_the_first_sentences_are_shown() -> None:
    count = ROWS + 10
    one = scored_set(["در"] * count, sources=["The door."] * count, references=[("در",)] * count)
    page = Page(evaluation_page("many", [one]))
    rows = [attributes["id"] for attributes in page.all("tr") if (attributes.get("id") or "").startswith("s-")]
    assert rows == [f"s-1-{number}" for number in range(1, ROWS + 1)]
    assert len(page.data["sets"][0]["hypotheses"]) == count
    assert any(f"the first {ROWS} of {count} sentences" in text for text in page.texts["p"])


def test_systems_stand_side_by_side() -> None:
    page = Page(evaluation_page("two", [scored_set(), scored_set(system="other"), scored_set(test_set="more")]))
    rows = [attributes["id"] for attributes in page.all("tr") if (attributes.get("id") or "").startswith("s-")]
    assert rows == ["s-1-1", "s-2-1", "s-1-2", "s-2-2", "s-1-3", "s-2-3", "s-3-1", "s-3-2", "s-3-3"]
    assert page.data["sources"] == [list(SOURCES)]


def test_persian_is_right_to_left() -> None:
    page = Page(whole_page())
    sides = [(attributes.get("lang"), attributes.get("dir")) for attributes in page.all("div") if "lang" in attributes]
    assert set(sides) == {("en", "ltr"), ("fa", "rtl")}
    assert sides.count(("fa", "rtl")) == 2 * sides.count(("en", "ltr"))
