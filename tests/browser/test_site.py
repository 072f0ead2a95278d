"""The documentation as a site: it is built without a warning, fetches nothing, and can be searched as plain files."""

import re
from pathlib import Path

import pytest

from tests.support.chromium import Visitor
from tests.support.doc_examples import build_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(tmp_path_factory.mktemp("site"))


def test_pages_and_style_sheets_load_no_external_resource(site: Path) -> None:
    for page in site.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?(?:https?:)?//[^>]*>", text), page.name
        assert not re.findall(r"<link\b[^>]*\bhref=\"?(?:https?:)?//[^>]*>", text), page.name
    styles = list(site.rglob("*.css"))
    assert styles
    for style in styles:
        assert not re.search(r"url\(\"?(?:https?:)?//|@import", style.read_text(encoding="utf-8")), style.name


@pytest.mark.browser
def test_pages_open_without_an_error(guest: Visitor, site: Path) -> None:
    images_are_loaded = "[...document.images].every((image) => image.complete && image.naturalWidth > 0)"
    errors_of_pages = {}
    for page in sorted(site.glob("*.html")):
        guest.browser.open(page.as_uri())
        errors = guest.errors()
        if errors and page.name != "404.html":
            errors_of_pages[page.name] = errors
        assert guest.browser.run(images_are_loaded), page.name
    assert errors_of_pages == {}


@pytest.mark.browser
def test_search_works_without_a_server(guest: Visitor, site: Path) -> None:
    words, heading = "مدرسه", "3. A sentence of your own"
    guest.browser.open((site / "index.html").as_uri())
    guest.browser.run(
        "(() => { document.querySelector('label[for=__search]').click();"
        f" const input = document.querySelector('.md-search__input'); input.focus(); input.value = {words!r};"
        " input.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true})); })()"
    )
    headings = ".md-search-result__article :is(h1, h2)"
    guest.wait_until(f"document.querySelector('{headings}')")
    assert heading in guest.texts(headings)
    addresses = guest.requests()
    assert addresses
    for address in addresses:
        assert address.startswith(("file:", "data:", "about:"))
    assert guest.errors(warnings=True) == []
