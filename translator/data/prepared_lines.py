"""Prepared text by line number: a memory-mapped file, and the place of each line in it.

PREFIX.lines.npy   (N + 1,) int64: where each line begins in bytes, and finally the size of the file
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from translator.core.batch import Numbers
from translator.run.storage import storage_errors

_NEWLINE = 10


def write_line_starts(text_file: Path, prefix: Path) -> None:
    """Write the places of the lines of `text_file`, each of which ends in a newline; raise StorageError if full."""
    with storage_errors(text_file, "read"):
        content = _bytes_of(text_file)
    ends = np.flatnonzero(content == _NEWLINE) + 1
    with storage_errors(prefix.parent):
        prefix.parent.mkdir(parents=True, exist_ok=True)
        np.save(_starts_file(prefix), np.concatenate(([0], ends)).astype("<i8"))


class PreparedLines:
    """The lines of one side of one source; raises StorageError if a file cannot be read."""

    def __init__(self, text_file: Path, prefix: Path) -> None:
        """Take the text, and the prefix that `write_line_starts` was given."""
        with storage_errors(text_file, "read"):
            self._content = _bytes_of(text_file)
            self._starts: Numbers = np.load(_starts_file(prefix), mmap_mode="r").view(np.ndarray)

    def __getitem__(self, number: int) -> str:
        """Return line `number`, from 0, without its newline."""
        start, end = self._starts[number : number + 2]
        return self._content[start : end - 1].tobytes().decode("utf-8")


def _starts_file(prefix: Path) -> Path:
    return prefix.with_name(f"{prefix.name}.lines.npy")  # not `with_suffix`: names may contain dots


def _bytes_of(file: Path) -> NDArray[np.uint8]:
    if file.stat().st_size == 0:  # an empty file cannot be mapped
        return np.empty(0, np.uint8)
    return np.memmap(file, np.uint8, mode="r").view(np.ndarray)
