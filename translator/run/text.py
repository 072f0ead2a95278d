"""Text for terminals and logs: escaping, excerpts, tables, and lines on standard output."""

import os
import re
import shlex
import sys
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import Final, TextIO

from translator.run.files import explain_os_error

_STEERING: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of control characters, invisible format characters, lone surrogates and line separators."""
_HARMLESS: Final = "\n\t\u200c\u200d"  # allowed in messages: line ends, tabs, ZWNJ and ZWJ

_ARABIC_LETTER: Final = re.compile("[\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]")


def printable(text: str) -> str:
    r"""Return `text` with control characters, escape codes and bidi controls escaped, for printing to a terminal.

    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    """Return a character as it is, or the escape code of one that may steer a terminal."""
    if character in _HARMLESS or unicodedata.category(character) not in _STEERING:
        return character
    return ascii(character)[1:-1]


def is_persian(text: str) -> bool:
    """Return whether most letters of `text` are of the Arabic script."""
    arabic = len(_ARABIC_LETTER.findall(text))
    return arabic > 0 and 2 * arabic >= sum(map(str.isalpha, text))


def excerpt(text: str, longest: int) -> str:
    """Return `text` cut to `longest` characters, on one line, and escaped as by `printable`."""
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def wrapped(text: str) -> list[str]:
    """Return `text` as indented lines of at most 80 characters, to stand below a name."""
    return textwrap.wrap(text, 80, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def install_command(*arguments: str) -> str:
    """Return the command for pip with these arguments, for the Python that runs this program."""
    return shlex.join([sys.executable, "-m", "pip", "install", *arguments])  # a bare `pip` may belong to another


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> str:
    """Return `rows` under `header` and a rule; the first `text_columns` are left-aligned, the others right-aligned."""
    # 1. Pad each column to its longest cell.
    columns = zip(header, *rows, strict=True)  # each with its header and its cells
    padded_columns = []
    for number, column in enumerate(columns):
        width = max(map(len, column))
        align = str.ljust if number < text_columns else str.rjust
        padded_columns.append([align(cell, width) for cell in column])

    # 2. Join the rows, with the rule below the header.
    lines = []
    for cells in zip(*padded_columns, strict=True):
        lines.append("  ".join(cells).rstrip())
    rule = "-" * max(map(len, lines))
    lines.insert(1, rule)
    return "\n".join(lines)


def write_lines(output: TextIO, lines: Sequence[str]) -> None:
    """Write `lines` to `output`, a standard stream, and flush.

    Raises:
        StorageError: the stream cannot be written.
        BrokenPipeError: its reader has closed it.
    """
    try:
        output.writelines(f"{line}\n" for line in lines)
        output.flush()
    except BaseException as error:  # also a stop signal
        # Point the stream at /dev/null, for what is left in its buffer: else the flush at the exit of the interpreter
        # blocks, or fails again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, output.fileno())
        os.close(nowhere)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise explain_os_error(error, "standard output", "write") from error
        raise
