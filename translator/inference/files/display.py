"""The order in which a terminal needs Persian text: as it is stored, or joined and reordered as it is read."""

import shutil
import textwrap
import unicodedata
from collections.abc import Mapping
from typing import Final, Literal, TextIO

Display = Literal["auto", "logical", "visual"]
Order = Literal["logical", "visual"]

_ZWNJ: Final = "\u200c"  # it changes the shapes of letters
_FIRST_VTE_IN_ORDER: Final = 5800  # GNOME Terminal's widget reorders Persian since 0.58
_DO_NOT_ORDER: Final = ("vscode", "iTerm.app", "WezTerm", "ghostty", "Hyper", "tmux", "alacritty", "kitty")
"""TERM_PROGRAM of terminals that show (or in old versions showed) Persian unjoined and from left to right."""
_TERMINAL_VARIABLES: Final = ("KITTY_WINDOW_ID", "ALACRITTY_WINDOW_ID", "ALACRITTY_LOG", "WT_SESSION", "XTERM_VERSION")
"""Variables that such terminals set."""


def choose_display(display: Display, output: TextIO, environment: Mapping[str, str]) -> Order:
    """Return the order of characters for `output`.

    Args:
        display: the requested order; `auto` finds out what the terminal needs.
        output: whatever is no terminal gets text as it is stored.
        environment: the variables that tell terminals apart.
    """
    if not output.isatty():
        return "logical"
    if display != "auto":
        return display
    program = environment.get("TERM_PROGRAM", "")
    # In tmux, VTE_VERSION is that of the terminal around it, but tmux draws the text, and does not order it.
    vte_version = environment.get("VTE_VERSION", "")
    if vte_version.isdigit() and program != "tmux":
        return "logical" if int(vte_version) >= _FIRST_VTE_IN_ORDER else "visual"
    if program in _DO_NOT_ORDER or environment.get("TERM") == "linux":
        return "visual"
    if any(environment.get(name) for name in _TERMINAL_VARIABLES):
        return "visual"
    return "logical"


def visual_lines(text: str) -> list[str]:
    """Return the lines that the terminal has to show for `text`: shapes of joined letters, in order from left to right.

    No line is longer than the terminal is wide.
    """
    from arabic_reshaper import reshape
    from bidi.algorithm import get_display  # `bidi.get_display` does not mirror brackets

    # Leave out invisible signs: some terminals obey direction marks, and arabic-reshaper 3.1.0 raises IndexError for a
    # ZWJ before lam and alef.
    printable = "".join(letter for letter in text if unicodedata.category(letter) != "Cf" or letter == _ZWNJ)
    # Wrap before reordering: a terminal that wraps a reordered line shows its end before its beginning.
    width = shutil.get_terminal_size().columns
    lines = textwrap.wrap(printable, width, break_on_hyphens=False) or [""]
    return [get_display(reshape(line), base_dir="R") for line in lines]
