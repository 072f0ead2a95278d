"""Persian on a terminal: who orders it, and what is seen."""

import io

import pytest

from translator.streaming import OutputForm, choose_display
from translator.streaming.display import shown, visual_lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "logical"),
        ({"TERM": "xterm-256color"}, "logical"),
        ({"TERM_PROGRAM": "Apple_Terminal"}, "logical"),
        ({"VTE_VERSION": "7600"}, "logical"),
        ({"VTE_VERSION": "5202"}, "visual"),
        ({"VTE_VERSION": "7600", "TERM_PROGRAM": "tmux"}, "visual"),
        ({"KONSOLE_VERSION": "220401"}, "logical"),
        ({"TERM_PROGRAM": "vscode"}, "visual"),
        ({"KITTY_WINDOW_ID": "1"}, "visual"),
        ({"WT_SESSION": "x"}, "visual"),
        ({"TERM": "linux"}, "visual"),
    ],
)
def test_who_orders_persian(environment: dict[str, str], expected: str) -> None:
    assert choose_display("auto", Terminal(), environment) == expected
    assert choose_display("visual", Terminal(), environment) == "visual"
    assert choose_display("logical", Terminal(), environment) == "logical"
    assert choose_display("visual", io.StringIO(), environment) == "logical", "a pipe gets text as it is"


def test_letters_are_joined_and_reversed() -> None:
    assert visual_lines("سلام", 80) == ["\ufee1\ufefc\ufeb3"], "meem, lam-alef, seen, from left to right"
    assert visual_lines("(سلام)", 80) == ["(\ufee1\ufefc\ufeb3)"], "brackets are mirrored"
    assert visual_lines("", 80) == [""]
    assert visual_lines("\u202eab\u202c", 80) == ["ab"], "controls cannot turn the terminal"


def test_numbers_and_english_stay_as_they_are() -> None:
    (line,) = visual_lines("در ۱۲ yes", 80)
    assert line.startswith("yes ۱۲ ")


def test_a_long_text_is_cut_before_it_is_ordered() -> None:
    first, second = visual_lines("سلام " * 2, 5)
    assert first == second == visual_lines("سلام", 5)[0]


def test_only_plain_text_is_reordered() -> None:
    assert shown(["سلام"], OutputForm(), "visual") == visual_lines("سلام")
    assert shown(["سلام"], OutputForm(), "logical") == ["سلام"]
    assert shown(["سلام"], OutputForm("tsv"), "visual") == ["سلام"]
