"""Persian on a terminal: letters joined and read from right to left, also where the terminal does neither."""

import shutil
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TextIO

from translator.streaming.form import OutputForm

Display = Literal["auto", "logical", "visual"]

_ORDERS_ITSELF: Final = {"Apple_Terminal", "mintty", "mlterm"}
"""Values of TERM_PROGRAM of terminals that join and order Persian themselves."""
_DOES_NOT: Final = {"vscode", "iTerm.app", "WezTerm", "ghostty", "Hyper", "tmux", "alacritty", "kitty"}
"""Those that show letters one by one from left to right, or did in most versions so far."""
_MARKS_OF_OTHERS: Final = ("KITTY_WINDOW_ID", "ALACRITTY_WINDOW_ID", "ALACRITTY_LOG", "WT_SESSION", "XTERM_VERSION")
"""Variables that such terminals set."""
_FIRST_VTE: Final = 5800
"""Version of VTE (GNOME Terminal and its kin) from which on it orders Persian, as VTE_VERSION writes it."""


def choose_display(asked: Display, output: TextIO, environment: Mapping[str, str]) -> Literal["logical", "visual"]:
    """Return how text is written to `output`: as it is stored, or as it is to be seen.

    What is not a terminal gets text as it is stored, whatever was asked for. `auto` goes by what terminals say of
    themselves; one that is not known is taken to order Persian itself, since text that is copied from it is then right.

    Args:
        asked: for.
        output: where to.
        environment: variables of the process.
    """
    if not output.isatty() or asked == "logical":
        return "logical"
    if asked == "visual":
        return "visual"
    program = environment.get("TERM_PROGRAM", "")
    if program in _ORDERS_ITSELF or environment.get("KONSOLE_VERSION"):
        return "logical"
    version = environment.get("VTE_VERSION", "")
    if version.isdigit() and program != "tmux":
        return "logical" if int(version) >= _FIRST_VTE else "visual"
    known_not_to = program in _DOES_NOT or any(environment.get(name) for name in _MARKS_OF_OTHERS)
    return "visual" if known_not_to or environment.get("TERM") == "linux" else "logical"


def shown(lines: Sequence[str], form: OutputForm, display: Literal["logical", "visual"]) -> list[str]:
    """Return `lines` as they go to a terminal; only plain text is ever shown in visual order."""
    if display == "logical" or form.format != "text":
        return list(lines)
    return [part for line in lines for part in visual_lines(line)]


def visual_lines(text: str, columns: int | None = None) -> list[str]:
    """Return `text` as lines of a terminal, letters in their joined shapes and in the order they are seen.

    It is cut to the width first, for a terminal that cuts a reordered line itself puts its end before its beginning.

    Args:
        text: one line.
        columns: width of the terminal; by default that of the one at hand.
    """
    from bidi.algorithm import get_display  # the other one, `bidi.get_display`, mirrors no brackets

    from translator.arabic_shapes import shaped

    width = columns or shutil.get_terminal_size().columns
    printable = "".join(letter for letter in text if unicodedata.category(letter) != "Cf" or letter in "\u200c\u200d")
    lines = textwrap.wrap(printable, width, break_on_hyphens=False) or [""]
    return [get_display(shaped(line), base_dir="R") for line in lines]
