"""Printing on standard output, so that no failure is left to the interpreter's exit."""

import sys

from translator.streaming import write_lines


def say(*lines: str) -> None:
    """Print `lines` and all that was printed before, now."""
    write_lines(sys.stdout, lines)
