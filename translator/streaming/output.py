"""Standard output, written so that no failure is left to the interpreter's exit."""

import os
from collections.abc import Sequence
from typing import TextIO

from translator.storage import explain_os_error


def write_lines(output: TextIO, lines: Sequence[str]) -> None:
    """Write `lines` to the standard output, or what stands in its place, so that its reader has them on return.

    Raises:
        StorageError: the disk is full, or another reason why the output cannot be written.
        BrokenPipeError: the reader has gone.
    """
    try:
        output.writelines(f"{line}\n" for line in lines)
        output.flush()
    except BaseException as error:
        _discard(output)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise explain_os_error(error, "standard output", "write") from error
        raise


def _discard(output: TextIO) -> None:
    """Give up what could not be written: at its exit the interpreter would wait for the reader, or complain again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output.fileno())
    os.close(nowhere)
