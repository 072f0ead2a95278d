"""The page in a browser: its script shows what the page shows without it, sorts, filters, and follows links."""

from collections.abc import Iterator

import pytest
from evaluation.report.browser import CHROMIUM, Browser
from evaluation.report.scored_sets import scored_set
from evaluation.report.test_page import TRICKS

from translator.evaluation.diagnosis import diagnose
from translator.evaluation.report import evaluation_page
from translator.evaluation.report.page import ROWS

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")]

COUNT = 120
HYPOTHESES = [*(trick.replace("\ud83d", "") for trick in TRICKS), "می\u200cروم " * 200, "", *["در باز است."] * COUNT][
    :COUNT
]
REFERENCES = [("در بسته است.",), *[("او می\u200cرود <b>",)] * (COUNT - 1)]
SOURCES = [f"Sentence number {number}." for number in range(1, COUNT + 1)]
CELLS = r"[...document.querySelectorAll('#rows tr')].map((row) => row.outerHTML.replaceAll(/>\s+</g, '><'))"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, str]]:
    folder = tmp_path_factory.mktemp("browser")
    sets = [
        scored_set(texts, sources=SOURCES, references=REFERENCES, test_set="many", system=system)
        for system, texts in (("one", HYPOTHESES), ("two", ["در باز است."] * COUNT))
    ]
    path = folder / "report.html"
    path.write_text(evaluation_page("Evaluation", sets, [diagnose(one) for one in sets]), encoding="utf-8")
    with Browser(folder / "profile") as browser:
        yield browser, path.as_uri()


def typed(browser: Browser, identity: str, value: str) -> None:
    browser.run(
        f"(() => {{ const input = document.getElementById({identity!r}); input.value = {value!r}; "
        "input.dispatchEvent(new Event('input')); })()"
    )


def shown(browser: Browser) -> list[str]:
    found: list[str] = browser.run("[...document.querySelectorAll('#rows tr')].map((row) => row.id)")
    return found


def test_the_script_shows_what_is_there_without_it(page: tuple[Browser, str]) -> None:
    browser, address = page
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(address)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    without = browser.run(CELLS)
    browser.open(address)
    assert browser.run(CELLS) == without
    assert len(without) == ROWS


def test_nothing_is_asked_for_and_nothing_goes_wrong(page: tuple[Browser, str]) -> None:
    browser, address = page
    browser.open(address)
    requests = [
        event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"
    ]
    assert requests == [address]
    assert not [event for event in browser.events if event["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")]
    for width in (400, 1280):
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        assert browser.run("document.documentElement.scrollWidth") <= width


def test_it_sorts(page: tuple[Browser, str]) -> None:
    browser, address = page
    browser.open(address)
    read = "[...document.querySelectorAll('#rows [data-label=chrF]')].map((cell) => Number(cell.textContent))"
    button = "document.querySelector('[data-key=chrf] button')"
    browser.run(f"{button}.click()")
    rising = browser.run(read)
    assert rising == sorted(rising)
    assert browser.run(f"{button}.parentElement.getAttribute('aria-sort')") == "ascending"
    browser.run(f"{button}.click()")
    falling = browser.run(read)
    assert falling == sorted(falling, reverse=True)
    assert falling[0] > rising[0]
    assert browser.run("document.querySelectorAll('[aria-sort=ascending], [aria-sort=descending]').length") == 1


def test_it_filters(page: tuple[Browser, str]) -> None:
    browser, address = page
    browser.open(address)
    typed(browser, "text", "NUMBER 17.")
    assert shown(browser) == ["s-1-17", "s-2-17"]
    typed(browser, "system", "two")
    assert shown(browser) == ["s-2-17"]
    assert browser.run("document.getElementById('shown').textContent") == "Sentences 1–1 of 1 found, of 240 in all"
    typed(browser, "text", "ميرود")
    assert shown(browser)[0] == "s-2-2", "neither Arabic letters nor half-spaces stand in the way"
    typed(browser, "text", "nowhere")
    assert shown(browser) == []
    browser.run("document.getElementById('reset').click()")
    assert len(shown(browser)) == ROWS
    browser.run("document.querySelector('[data-go=last]').click()")
    assert shown(browser)[-1] == f"s-2-{COUNT}"


def test_links_lead_to_sentences_and_findings(page: tuple[Browser, str]) -> None:
    browser, address = page
    browser.open(f"{address}#s-2-100")
    assert browser.run("document.activeElement.id") == "s-2-100"
    browser.open(f"{address}#found-1-empty")
    empty = diagnose(scored_set(HYPOTHESES, sources=SOURCES, references=REFERENCES)).finding("empty")
    assert empty is not None
    assert shown(browser) == [f"s-1-{sentence}" for sentence in empty.sentences]


def test_the_keyboard_finds_the_search(page: tuple[Browser, str]) -> None:
    browser, address = page
    browser.open(address)
    browser.press("/")
    browser.press("1")
    assert browser.run("[document.activeElement.id, document.activeElement.value]") == ["text", "1"]
