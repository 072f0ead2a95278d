"""Colours, for a person at a terminal who has not asked for none (https://no-color.org)."""

import os
from typing import Final, TextIO

_CODES: Final = {"red": 31, "green": 32, "yellow": 33}
"""SGR parameters of ECMA-48."""


def coloured(text: str, colour: str, stream: TextIO) -> str:
    """Return `text` in `colour` if `stream`, where it is to be shown, is a terminal that has colours; else as it is."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb" or not stream.isatty():
        return text
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"
