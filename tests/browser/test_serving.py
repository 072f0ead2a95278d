"""The page of the server in a browser: Persian from right to left, where the model looked, failures in words."""

from collections.abc import Iterator

import pytest
from browser.serving import Visitor, word_by_word
from evaluation.report.browser import CHROMIUM, Browser
from serve.stand_ins import served

from translator.serve import Limits

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")]

FIRST = "document.querySelector('.line')"
PERSIAN = f"{FIRST}.querySelectorAll('li')[0].querySelectorAll('.word')"
ENGLISH = f"{FIRST}.querySelectorAll('[lang=en] .word')"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server whose translations are known."""
    with served(word_by_word(), Limits(characters=200, lines=5)) as (address, _):
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all."""
    with Browser(tmp_path_factory.mktemp("browser") / "profile") as opened:
        yield opened


@pytest.fixture
def visitor(browser: Browser, address: str) -> Visitor:
    """Somebody who has just opened the page."""
    found = Visitor(browser)
    found.look()
    browser.open(address)
    return found


def test_english_goes_in_and_persian_comes_out(visitor: Visitor, address: str) -> None:
    visitor.translate("children go home (today)\n\nhome")
    assert visitor.texts(".line > .pair > .text") == ["children go home (today)", "home"]
    first = "بچه\u200cها می\u200cروند خانه (امروز)"
    assert visitor.texts(".line:first-child li:first-child .text") == [first]
    assert visitor.texts(".line:first-child .rank") == ["1", "2", "3"]
    scores = [float(score.replace("−", "-")) for score in visitor.texts(".line:first-child .score")]
    assert scores == sorted(scores, reverse=True)
    directions = (
        "[...document.querySelectorAll('.pair .text')].map((one) => [one.lang, getComputedStyle(one).direction])"
    )
    assert visitor.browser.run(directions) == [["en", "ltr"], *[["fa", "rtl"]] * 3] * 2
    left, right = visitor.browser.run(f"[{PERSIAN}[1], {PERSIAN}[0]].map((one) => one.getBoundingClientRect().left)")
    assert left < right, "the second word stands left of the first"
    sides = f"[{ENGLISH}[3], {PERSIAN}[3]].map((one) => one.getBoundingClientRect().left)"
    left, right = visitor.browser.run(sides)
    assert left < right, "English stands left of Persian"
    assert visitor.complaints() == []
    assert all(request.startswith(address) for request in visitor.requests())


def test_texts_are_no_markup(visitor: Visitor) -> None:
    text = "<script>hurt()</script> <img src=x onerror=hurt()> <b>&amp; \u202ehome"
    visitor.browser.run("void (window.hurt = () => { document.title = 'hurt'; })")
    visitor.translate(text)
    assert visitor.texts(".line > .pair > .text")[0].split()[:2] == ["<script>hurt()</script>", "<img"]
    assert "<script>hurt()</script>" in visitor.texts("li:first-child .text")[0]
    assert visitor.browser.run("document.querySelectorAll('main script, main img, main b').length") == 0
    assert visitor.browser.run("document.title") == "Translate English into Persian"
    assert visitor.complaints() == []


def test_hovering_a_word_shows_where_the_model_looked(visitor: Visitor) -> None:
    visitor.translate("children go home (today)")
    visitor.hover(f"{PERSIAN}[1]")
    assert visitor.texts(".line [lang=en] .looked") == ["go"]
    assert visitor.texts(".here") == ["می\u200cروند"]
    assert visitor.texts(".caption") == ["می\u200cروند looked at go 75% · the end and elsewhere 25%"]
    visitor.hover(f"{ENGLISH}[0]")
    assert visitor.texts(".line [lang=en] .looked") == []
    assert visitor.texts("li:first-child .looked") == ["بچه\u200cها"]
    assert visitor.texts(".caption") == ["children was looked at by بچه\u200cها 75%"]
    visitor.hover("document.querySelector('h1')")
    assert visitor.texts(".looked, .here") == []
    assert visitor.texts(".caption") == [""]


def test_the_arrow_keys_go_the_way_that_the_text_is_read(visitor: Visitor) -> None:
    visitor.translate("children go home (today)")
    visitor.browser.run(f"{PERSIAN}[0].focus()")
    visitor.press("ArrowLeft")
    assert visitor.texts(".here") == ["می\u200cروند"]
    visitor.press("End")
    visitor.press("ArrowLeft")  # there is no further word
    assert visitor.texts(".here") == ["(امروز)"]
    visitor.press("ArrowRight")
    assert visitor.texts(".here, .line [lang=en] .looked") == ["home", "خانه"]
    stops = f"[...{PERSIAN}].map((one) => one.tabIndex)"
    assert visitor.browser.run(stops) == [-1, -1, 0, -1], "each text is one stop of the Tab key"


def test_failures_are_told_in_words(visitor: Visitor) -> None:
    visitor.translate("x" * 201)
    assert visitor.texts("#problem") == ["The text has 201 characters, and the limit is 200. Send it in parts."]
    visitor.translate("a\n" * 5)
    assert visitor.texts("#problem") == ["The text has 6 lines, and the limit is 5. Send it in parts."]
    visitor.browser.run(
        "(() => { document.getElementById('count').options[0].text = '9'; count.selectedIndex = 0; })()"
    )
    visitor.translate("home")
    assert visitor.texts("#problem")[0].startswith("9 translations of a line are asked for")


def test_a_server_that_has_gone_is_missed(browser: Browser) -> None:
    visitor = Visitor(browser)
    with served(word_by_word()) as (address, _):
        browser.open(address)
    visitor.translate("home")
    assert visitor.texts("#problem") == ["The server does not answer. Is it still running?"]
    assert not visitor.browser.run("document.getElementById('results').hasAttribute('aria-busy')")


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_it_fits_the_window_and_its_colours_the_room(visitor: Visitor, width: int) -> None:
    papers = []
    for scheme in ("light", "dark"):
        visitor.look(scheme=scheme, width=width, height=800)
        visitor.translate("children go home (today) " * 4 + "x" * 90)
        assert visitor.texts("#problem") == [""]
        assert visitor.browser.run("document.documentElement.scrollWidth") <= width
        papers.append(visitor.browser.run("getComputedStyle(document.body).backgroundColor"))
    assert papers[0] != papers[1]
