"""The pages that the house writes, on a real run: they show what they are for, Persian as it is read, and no errors."""

from pathlib import Path

import pytest
from browser.conftest import Keep, errors
from browser.serving import Visitor
from built_site import build_site
from serve.stand_ins import served

from translator.inference import Translator

pytestmark = pytest.mark.browser

PERSIAN = "[...document.querySelectorAll('[lang=fa]')].filter((one) => one.textContent.trim())"


def persian_runs_from_right_to_left(guest: Visitor) -> bool:
    """Return whether each Persian text on the page says so."""
    directions = set(guest.browser.run(f"{PERSIAN}.map((one) => getComputedStyle(one).direction)"))
    return directions == {"rtl"}


def test_the_report_of_an_evaluation(guest: Visitor, evaluated: Path, keep: Keep) -> None:
    guest.browser.open((evaluated / "report.html").as_uri())
    assert guest.browser.run("document.querySelectorAll('#rows tr').length") > 5
    assert guest.browser.run("document.querySelectorAll('svg path, svg polyline').length") > 1
    assert persian_runs_from_right_to_left(guest)
    keep("evaluation-report")
    guest.browser.run("document.getElementById('rows').scrollIntoView({behavior: 'instant'})")
    keep("evaluation-sentences")
    assert errors(guest) == []


def test_the_report_of_a_preparation(guest: Visitor, a_run: Path, keep: Keep) -> None:
    guest.browser.open((a_run / "preparation" / "report.html").as_uri())
    assert guest.browser.run("document.querySelectorAll('table').length") > 2
    assert persian_runs_from_right_to_left(guest)
    keep("preparation-report")
    assert errors(guest) == []


def test_the_documentation(guest: Visitor, tmp_path: Path, keep: Keep) -> None:
    site = build_site(tmp_path / "site")
    wrong = {}
    for page in sorted(site.glob("*.html")):
        guest.browser.open(page.as_uri())
        wrong[page.name] = [one for one in errors(guest) if "404" not in page.name]
        assert guest.browser.run("[...document.images].every((one) => one.complete && one.naturalWidth > 0)"), page.name
    assert {name: found for name, found in wrong.items() if found} == {}
    guest.browser.open((site / "first-hour.html").as_uri())
    assert persian_runs_from_right_to_left(guest)
    keep("documentation")


def test_the_page_of_the_server(guest: Visitor, a_run: Path, keep: Keep) -> None:
    with served(Translator.load(a_run, device="cpu")) as (address, _):
        guest.browser.open(address)
        guest.translate("The children are at school.\nMy sister drinks tea.")
        assert len(guest.texts(".line")) == 2
        assert persian_runs_from_right_to_left(guest)
        word = "document.querySelector('.line li .word')"
        if guest.browser.run(f"Boolean({word})"):  # a model of few steps may say nothing
            guest.hover(word)
        keep("serve")
    assert guest.complaints() == []
