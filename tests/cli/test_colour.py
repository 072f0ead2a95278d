"""Colours at terminals, and nowhere else."""

import io

import pytest

from translator.cli import main
from translator.cli.colour import coloured


class Terminal(io.StringIO):
    """Text that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def colourful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_a_terminal_shows_colours() -> None:
    assert coloured("wrong", "red", Terminal()) == "\x1b[31mwrong\x1b[0m"


def test_a_file_has_none() -> None:
    assert coloured("wrong", "red", io.StringIO()) == "wrong"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_who_asks_for_none_gets_none(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert coloured("wrong", "red", Terminal()) == "wrong"


def test_an_empty_wish_is_no_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    assert coloured("wrong", "red", Terminal()) != "wrong"


def test_a_complaint_is_coloured_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert main(["recipe", "none"]) == 2
    assert terminal.getvalue().startswith("\x1b[31mtranslator:\x1b[0m no recipe is called `none`")
