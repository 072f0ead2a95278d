"""Lines written to standard output."""

import os
from collections.abc import Sequence
from typing import TextIO

from translator.run.files import explain_os_error


def write_lines(output: TextIO, lines: Sequence[str]) -> None:
    """Write `lines` to `output`, a standard stream, and flush.

    Raises:
        StorageError: the stream cannot be written.
        BrokenPipeError: its reader has closed it.
    """
    try:
        output.writelines(f"{line}\n" for line in lines)
        output.flush()
    except BaseException as error:
        # Discard what is in the buffer: otherwise the interpreter's flush at exit blocks, or fails again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, output.fileno())
        os.close(nowhere)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise explain_os_error(error, "standard output", "write") from error
        raise
