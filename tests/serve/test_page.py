"""The page: escaped, with all its files from the server itself, and with choices that the model has."""

import re
from html.parser import HTMLParser

import pytest

from translator.config import SearchConfig
from translator.serve.page import icon, page, script, style
from translator.serve.schema import Model, ServedLimits


def model(name: str = "sample", search: SearchConfig | None = None, translations: int = 5) -> Model:
    return Model(
        name=name,
        checkpoint="step-000005",
        engine="torch",
        search=(search or SearchConfig()).model_dump(mode="json"),
        attention=True,
        limits=ServedLimits(characters=5000, lines=100, translations=translations, seconds=30),
        versions={},
    )


class Elements(HTMLParser):
    """Keeps the tags of a page with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_name_of_a_run_is_no_markup() -> None:
    html = page(model(name='<script>alert("x")</script>\u202e'))
    assert html.count("<script") == 1
    assert "&lt;script&gt;" in html
    assert "\u202e" not in html


def test_nothing_stands_inside_the_page_that_its_policy_forbids() -> None:
    for tag, attributes in Elements(page(model())).found:
        assert tag != "style"
        assert not any(name == "style" or name.startswith("on") for name in attributes)
        address = attributes.get("src", attributes.get("href")) or ""
        assert re.fullmatch(r"/[a-z]+\.(css|js|svg)|#results|", address)
    assert "url(" not in style()
    assert "innerHTML" not in script()
    assert "http" not in icon().replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize(("most", "chosen"), [(1, 0), (2, 1), (5, 2)])
def test_as_many_translations_can_be_chosen_as_there_are(most: int, chosen: int) -> None:
    options = [attributes for tag, attributes in Elements(page(model(translations=most))).found if tag == "option"]
    assert len(options) == most
    assert [place for place, attributes in enumerate(options) if "selected" in attributes] == [chosen]


def test_the_search_is_named() -> None:
    assert "beam search with a beam of 5 · torch" in page(model())
    assert "greedy search · torch" in page(model(search=SearchConfig(method="greedy")))
