"""The documentation as a site: it is built without a warning, fetches nothing, and can be searched as plain files."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from built_site import build_site
from doc_examples import ROOT
from evaluation.report.browser import CHROMIUM, Browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(tmp_path_factory.mktemp("site"))


def test_every_page_is_there(site: Path) -> None:
    names = {page.stem for page in (ROOT / "docs").glob("*.md")} | {"config-reference", "cli-reference"}
    assert {page.stem for page in site.glob("*.html")} == names | {"404"}


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    for page in site.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?(?:https?:)?//[^>]*>", text), page.name
        assert not re.findall(r"<link\b[^>]*\bhref=\"?(?:https?:)?//[^>]*>", text), page.name
    styles = [style.read_text(encoding="utf-8") for style in site.rglob("*.css")]
    assert styles and not any(re.search(r"url\(\"?(?:https?:)?//|@import", style) for style in styles)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    with Browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


def search(browser: Browser, words: str) -> list[str]:
    """Type into the search of the page and return the headings that it finds; waits for them."""
    browser.run(
        "(() => { document.querySelector('label[for=__search]').click();"
        f" const input = document.querySelector('.md-search__input'); input.focus(); input.value = {words!r};"
        " input.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true})); })()"
    )
    headings = "[...document.querySelectorAll('.md-search-result__article :is(h1, h2)')].map((one) => one.innerText)"
    for _ in range(200):
        found: list[str] = browser.run(headings)
        if found:
            return found
        time.sleep(0.05)
    return []


@pytest.mark.browser
@pytest.mark.parametrize(
    ("words", "heading"),
    [("learning_rate", "learning_rate"), ("مدرسه", "3. A sentence of your own"), ("torture", "Torture, 2026-11-21")],
)
def test_search_works_without_a_server(browser: Browser, site: Path, words: str, heading: str) -> None:
    browser.open((site / "index.html").as_uri())
    assert heading in search(browser, words)
    asked = [event["params"]["request"]["url"] for event in browser.events if "requestWillBeSent" in event["method"]]
    assert asked and all(address.startswith(("file:", "data:", "about:")) for address in asked)
    assert not [event for event in browser.events if event["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")]


@pytest.mark.browser
def test_persian_runs_from_right_to_left(browser: Browser, site: Path) -> None:
    browser.open((site / "first-hour.html").as_uri())
    # The first and the last letter of the translation: where they are drawn.
    left_of = (
        "(() => { const text = document.querySelector('[lang=fa]').firstChild, range = document.createRange();"
        " const at = (place) => { range.setStart(text, place); range.setEnd(text, place + 1);"
        " return range.getBoundingClientRect().left; }; return [at(0), at(text.length - 1)]; })()"
    )
    first, last = browser.run(left_of)
    assert first > last
    assert browser.run("document.documentElement.scrollWidth <= window.innerWidth")
