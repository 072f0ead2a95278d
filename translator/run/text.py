"""Text for terminals and logs: escaping, excerpts and tables."""

import unicodedata
from collections.abc import Sequence
from typing import Final

_STEERING: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of control characters, invisible format characters, lone surrogates and line separators."""
_HARMLESS: Final = "\n\t\u200c\u200d"  # allowed in messages: line ends, tabs, ZWNJ and ZWJ


def printable(text: str) -> str:
    r"""Return `text` with control characters, escape codes and bidi controls escaped, for printing to a terminal.

    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character in _HARMLESS or unicodedata.category(character) not in _STEERING:
        return character
    return ascii(character)[1:-1]


def excerpt(text: str, longest: int) -> str:
    """Return `text` cut to `longest` characters, on one line, and escaped as by `printable`."""
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> str:
    """Return `rows` under `header` and a rule; the first `text_columns` are left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for cells in (header, *rows):
        padded_cells = []
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            padded_cells.append(cell.ljust(width) if number < text_columns else cell.rjust(width))
        lines.append("  ".join(padded_cells).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)
