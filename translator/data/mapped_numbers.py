"""Pair numbers in memory-mapped files: an array with an entry for each pair of a corpus takes no private memory.

The pages of such a file belong to the system, which shares them among processes and writes them out when memory is
short. The files are written block by block, so that a full disk is an error of `write`, not a signal in the middle of
a computation.
"""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from translator.run.storage import storage_errors

PairNumbers = NDArray[np.int32]
BLOCK: Final = 65_536  # pairs that are in private memory at once
_DTYPE: Final = np.dtype(np.int32)


def ranges(count: int, first: int = 0) -> Iterator[PairNumbers]:
    """Yield the `count` numbers from `first` on, in blocks."""
    end = first + count
    for begin in range(first, end, BLOCK):
        yield np.arange(begin, min(begin + BLOCK, end), dtype=_DTYPE)


def blocks_of(numbers: PairNumbers) -> Iterator[PairNumbers]:
    """Yield `numbers`, (N,), in blocks."""
    for begin in range(0, len(numbers), BLOCK):
        yield numbers[begin : begin + BLOCK]


def unnamed_numbers(blocks: Iterable[PairNumbers], folder: Path) -> PairNumbers:
    """Return the numbers of all `blocks`, (N,), writable, mapped from a file that ends with the array.

    Raises StorageError: the disk of `folder` is full, or the folder is not writable.
    """
    with storage_errors(folder), tempfile.TemporaryFile(dir=folder) as file:
        write_blocks(file, blocks)
        file.flush()
        return _mapped(file, "r+")


def write_numbers(path: Path, blocks: Iterable[PairNumbers]) -> None:
    """Write the numbers of all `blocks` to `path`; raise StorageError if the disk is full."""
    with storage_errors(path), path.open("wb") as file:
        write_blocks(file, blocks)


def open_numbers(path: Path) -> PairNumbers:
    """Return the numbers that `write_numbers` wrote to `path`, (N,), read-only."""
    with storage_errors(path, "read"), path.open("rb") as file:
        return _mapped(file, "r")


def write_blocks(file: BinaryIO, blocks: Iterable[NDArray[Any]]) -> None:
    """Write all `blocks` to the open `file`."""
    for block in blocks:
        file.write(np.ascontiguousarray(block).data)


def _mapped(file: Any, mode: Any) -> PairNumbers:
    size = file.seek(0, 2)
    if size == 0:  # an empty file cannot be mapped
        return np.empty(0, _DTYPE)
    # A plain array: numpy's own subclass is slower to index, and shuffled by another method.
    return np.memmap(file, _DTYPE, mode=mode).view(np.ndarray)
