"""The pages of a real run in a browser: what they show, what their scripts do, right-to-left Persian, no errors."""

from pathlib import Path

import pytest

from tests.support.chromium import Visitor

pytestmark = pytest.mark.browser

PERSIAN = "[...document.querySelectorAll('[lang=fa]')].filter((element) => element.textContent.trim())"
SHOWN = "[...document.querySelectorAll('#rows > li')].filter((row) => row.offsetParent)"


def persian_runs_from_right_to_left(guest: Visitor) -> bool:
    """Return whether every Persian text on the page is displayed from right to left."""
    directions = guest.browser.run(f"{PERSIAN}.map((element) => getComputedStyle(element).direction)")
    return set(directions) == {"rtl"}


@pytest.mark.parametrize("width", [400, 1280])
def test_evaluation_report_sorts_searches_and_links_to_sentences(guest: Visitor, evaluated: Path, width: int) -> None:
    address = (evaluated / "evaluation" / "report.html").as_uri()
    guest.look(width=width, height=800)
    guest.browser.open(address)
    assert guest.requests() == [address], "a page asks for nothing else"
    assert guest.browser.run("document.documentElement.scrollWidth") <= width
    assert persian_runs_from_right_to_left(guest)
    assert guest.browser.run(f"{SHOWN}.length") == 40

    # Rows are sorted by chrF.
    chrf = f"{SHOWN}.map((row) => Number(row.dataset.chrf))"
    guest.browser.run("order.value = 'chrf 1'; order.dispatchEvent(new Event('input'))")
    sorted_scores = guest.browser.run(chrf)
    assert sorted_scores == sorted(sorted_scores)

    # A search for the text of the first row leaves out rows.
    first = guest.browser.run(f"{SHOWN}[0].querySelector('.text').textContent")
    guest.press("/")
    assert guest.browser.run("document.activeElement.id") == "text"
    guest.browser.call("Input.insertText", text=first.upper())
    assert 1 <= guest.browser.run(f"{SHOWN}.length") < 40

    guest.browser.run("location.hash = '#s-1-1'")
    guest.wait_until("document.activeElement.id === 's-1-1'")
    assert guest.browser.run(f"{SHOWN}.length") == 40, "a link to a sentence shows it again"
    assert guest.errors() == []


def test_preparation_report_shows_tables_and_right_to_left_persian(guest: Visitor, evaluated: Path) -> None:
    guest.browser.open((evaluated / "preparation" / "report.html").as_uri())
    assert guest.browser.run("document.querySelectorAll('table').length") > 2
    assert persian_runs_from_right_to_left(guest)
    assert guest.errors() == []
