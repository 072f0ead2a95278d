"""The documentation as a site: it is built without a warning, fetches nothing, and can be searched as plain files."""

import re
from pathlib import Path

import pytest
from browser.chromium import Visitor
from doc_examples import ROOT, build_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(tmp_path_factory.mktemp("site"))


def test_site_has_every_page_and_loads_no_external_resource(site: Path) -> None:
    names = {page.stem for page in (ROOT / "docs").glob("*.md")} | {"config-reference", "cli-reference"}
    assert {page.stem for page in site.glob("*.html")} == names | {"404"}
    for page in site.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?(?:https?:)?//[^>]*>", text), page.name
        assert not re.findall(r"<link\b[^>]*\bhref=\"?(?:https?:)?//[^>]*>", text), page.name
    styles = [style.read_text(encoding="utf-8") for style in site.rglob("*.css")]
    assert styles and not any(re.search(r"url\(\"?(?:https?:)?//|@import", style) for style in styles)


@pytest.mark.browser
def test_pages_open_without_an_error(guest: Visitor, site: Path) -> None:
    wrong = {}
    for page in sorted(site.glob("*.html")):
        guest.browser.open(page.as_uri())
        wrong[page.name] = [one for one in guest.errors() if "404" not in page.name]
        assert guest.browser.run("[...document.images].every((one) => one.complete && one.naturalWidth > 0)"), page.name
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.browser
@pytest.mark.parametrize(
    ("words", "heading"),
    [("learning_rate", "learning_rate"), ("مدرسه", "3. A sentence of your own"), ("torture", "Resume")],
)
def test_search_works_without_a_server(guest: Visitor, site: Path, words: str, heading: str) -> None:
    guest.browser.open((site / "index.html").as_uri())
    guest.browser.run(
        "(() => { document.querySelector('label[for=__search]').click();"
        f" const input = document.querySelector('.md-search__input'); input.focus(); input.value = {words!r};"
        " input.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true})); })()"
    )
    headings = ".md-search-result__article :is(h1, h2)"
    guest.wait_until(f"document.querySelector('{headings}')")
    assert heading in guest.texts(headings)
    asked = guest.requests()
    assert asked and all(address.startswith(("file:", "data:", "about:")) for address in asked)
    assert guest.errors(warnings=True) == []
