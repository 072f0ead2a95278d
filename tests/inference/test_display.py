"""The order of Persian text on a terminal."""

import io

import pytest

from translator.inference.files.display import choose_display, visual_lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "logical"),
        ({"VTE_VERSION": "7600"}, "logical"),
        ({"VTE_VERSION": "5202"}, "visual"),
        ({"VTE_VERSION": "7600", "TERM_PROGRAM": "tmux"}, "visual"),
        ({"KITTY_WINDOW_ID": "1"}, "visual"),
        ({"TERM": "linux"}, "visual"),
    ],
)
def test_display_order_of_persian_depends_on_the_terminal(environment: dict[str, str], expected: str) -> None:
    assert choose_display("auto", Terminal(), environment) == expected
    assert choose_display("visual", Terminal(), environment) == "visual"
    assert choose_display("logical", Terminal(), environment) == "logical"
    assert choose_display("visual", io.StringIO(), environment) == "logical", "a pipe gets text as it is"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("سلام", ["\ufee1\ufefc\ufeb3"]),  # meem, lam-alef, seen, from left to right
        ("(سلام)", ["(\ufee1\ufefc\ufeb3)"]),  # brackets are mirrored
        ("سلام سلام ", ["\ufee1\ufefc\ufeb3"] * 2),  # cut before it is reordered
        ("\u202eab\u202c", ["ab"]),  # controls cannot turn the terminal
        ("", [""]),
    ],
)
def test_long_text_is_wrapped_before_letters_are_joined_and_reversed(text: str, shown: list[str]) -> None:
    assert visual_lines(text, 7) == shown
