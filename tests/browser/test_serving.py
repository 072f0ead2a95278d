"""The server's page in a browser: Persian from right to left, attention by word, and errors in plain words."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from tests.support.chromium import Browser, Visitor
from tests.support.echo_model import Echo, Words, echo
from tests.support.serve_stand_ins import served
from translator.config import SearchConfig
from translator.inference.translator import Translator
from translator.serve import Limits

pytestmark = pytest.mark.browser

WORDS = {"children": "بچه\u200cها", "go": "می\u200cروند", "home": "خانه", "(today)": "(امروز)"}
"""The translation of each word; any other word stays as it is."""


class PersianWords(Words):
    def __init__(self, source: Words) -> None:
        self.source = source

    @property
    def words(self) -> list[str]:  # type: ignore[override]
        return [WORDS.get(word, word) for word in self.source.words]


class WordByWord(Echo):
    """Gives three quarters of its attention to the word that it translates, and the rest to the end of the source."""

    def cross_attention(self, source_length: int, target_length: int) -> Tensor:
        weights = torch.zeros(target_length, source_length)
        last_place = source_length - 1
        for place in range(target_length):
            weights[place, min(place, last_place)] += 0.75
            weights[place, last_place] += 0.25
        return weights


def word_by_word() -> Translator:
    words = Words()
    search = SearchConfig(method="beam", beam_size=3, batch_size=8)
    return echo(20, search, source=words, target=PersianWords(words), model=WordByWord())[0]


FIRST = "document.querySelector('.line')"
PERSIAN = f"{FIRST}.querySelectorAll('li')[0].querySelectorAll('.word')"
ENGLISH = f"{FIRST}.querySelectorAll('[lang=en] .word')"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(word_by_word(), Limits(characters=200, lines=5)) as (address, _):
        yield address


@pytest.fixture
def visitor(chromium: Browser, address: str) -> Visitor:
    visitor = Visitor(chromium)
    visitor.look()
    chromium.open(address)
    return visitor


def left_edge(visitor: Visitor, element: str) -> float:
    position: float = visitor.browser.run(f"{element}.getBoundingClientRect().left")
    return position


def test_page_translates_english_and_shows_persian_right_to_left(visitor: Visitor, address: str) -> None:
    visitor.translate("children go home (today)\n\nhome")
    assert visitor.texts(".line > .pair > .text") == ["children go home (today)", "home"]
    first = "بچه\u200cها می\u200cروند خانه (امروز)"
    assert visitor.texts(".line:first-child li:first-child .text") == [first]
    assert visitor.texts(".line:first-child .rank") == ["1", "2", "3"]

    # Each line has an English text and three Persian translations.
    directions = (
        "[...document.querySelectorAll('.pair .text')]"
        ".map((element) => [element.lang, getComputedStyle(element).direction])"
    )
    english, persian = ["en", "ltr"], ["fa", "rtl"]
    assert visitor.browser.run(directions) == 2 * [english, persian, persian, persian]
    assert left_edge(visitor, f"{PERSIAN}[1]") < left_edge(visitor, f"{PERSIAN}[0]"), "words run from right to left"
    assert left_edge(visitor, f"{ENGLISH}[3]") < left_edge(visitor, f"{PERSIAN}[3]"), "English stands left of Persian"
    assert visitor.errors(warnings=True) == []
    assert all(request.startswith(address) for request in visitor.requests())


def test_page_shows_markup_in_texts_as_plain_text(visitor: Visitor) -> None:
    text = "<script>hurt()</script> <img src=x onerror=hurt()> <b>&amp; \u202ehome"
    visitor.browser.run("void (window.hurt = () => { document.title = 'hurt'; })")
    visitor.translate(text)
    assert visitor.texts(".line > .pair > .text")[0].split()[:2] == ["<script>hurt()</script>", "<img"]
    translation = visitor.texts("li:first-child .text")[0]
    assert translation.startswith("<script>"), "tags stand around the sentence"
    assert translation.endswith("</script>")
    assert visitor.browser.run("document.querySelectorAll('main script, main img, main b').length") == 0
    assert visitor.browser.run("document.title") == "Translate English into Persian"
    assert visitor.errors(warnings=True) == []


def test_hovering_a_word_highlights_the_words_it_attends_to(visitor: Visitor) -> None:
    visitor.translate("children go home (today)")

    # A Persian word.
    visitor.hover(f"{PERSIAN}[1]")
    assert visitor.texts(".line [lang=en] .looked") == ["go"]
    assert visitor.texts(".here") == ["می\u200cروند"]
    assert visitor.texts(".caption") == ["می\u200cروند looked at go 75% · the end and elsewhere 25%"]

    # An English word.
    visitor.hover(f"{ENGLISH}[0]")
    assert visitor.texts(".line [lang=en] .looked") == []
    assert visitor.texts("li:first-child .looked") == ["بچه\u200cها"]
    assert visitor.texts(".caption") == ["children was looked at by بچه\u200cها 75%"]

    # No word.
    visitor.hover("document.querySelector('h1')")
    assert visitor.texts(".looked, .here") == []
    assert visitor.texts(".caption") == [""]


def test_page_reports_failed_requests_in_plain_words(visitor: Visitor) -> None:
    visitor.translate("x" * 201)
    assert visitor.texts("#problem") == ["The text has 201 characters, but the limit is 200. Send it in parts."]
    visitor.browser.run("document.getElementById('count').options[0].text = '9'")
    visitor.browser.run("document.getElementById('count').selectedIndex = 0")
    visitor.translate("home")
    assert visitor.texts("#problem")[0].startswith("9 translations of a line are requested")


def test_page_reports_a_server_that_no_longer_answers(chromium: Browser) -> None:
    visitor = Visitor(chromium)
    with served(word_by_word()) as (address, _):
        chromium.open(address)
    visitor.translate("home")
    assert visitor.texts("#problem") == ["The server does not answer. Is it still running?"]
    assert not visitor.browser.run("document.getElementById('results').hasAttribute('aria-busy')")


@pytest.mark.parametrize("width", [320, 1280])
def test_page_fits_the_window_and_follows_the_colour_scheme(visitor: Visitor, width: int) -> None:
    background_colours = []
    for scheme in ("light", "dark"):
        visitor.look(scheme=scheme, width=width, height=800)
        visitor.translate("children go home (today) " * 4 + "x" * 90)
        assert visitor.texts("#problem") == [""]
        assert visitor.browser.run("document.documentElement.scrollWidth") <= width
        background_colours.append(visitor.browser.run("getComputedStyle(document.body).backgroundColor"))
    assert background_colours[0] != background_colours[1]
