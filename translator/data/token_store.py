"""Token ids of prepared text on disk, memory-mapped: memory does not grow with the corpus.

A folder holds one split, with two files for each side:

SIDE.ids.npy       the ids of all sentences, without special tokens: little-endian uint16 if the vocabulary has at most
                   65,536 pieces, else int32
SIDE.offsets.npy   little-endian int64: the start of each sentence, and finally the total
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from translator.corpus.prepared_corpus import Side
from translator.run.files import damaged, storage_errors
from translator.subword.block_encoding import FlatRows

FORMAT: Final = 5  # of a folder of stores
_OFFSET: Final = np.dtype("<i8")


class TokenWriter:
    """Writes one side block by block: `with TokenWriter(...) as writer`, then `writer.append`. Not atomic."""

    def __init__(self, folder: Path, side: Side, vocabulary_size: int) -> None:
        """Take the folder of the split, and the number of different ids."""
        self._folder = folder
        self._side = side
        self._type: np.dtype[Any] = np.dtype("<u2" if vocabulary_size <= 2**16 else "<i4")
        self._lengths = [np.zeros(1, np.int64)]  # of the sentences; their sums are the offsets

    def __enter__(self) -> "TokenWriter":
        """Open the file of ids; raise StorageError if the folder is not writable."""
        with storage_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._ids = (self._folder / f"{self._side}.ids.npy").open("wb")
            self._write_header(0)
        return self

    def append(self, rows: FlatRows) -> None:
        """Write the ids of more sentences; raise StorageError if the disk is full."""
        with storage_errors(self._folder):
            self._ids.write(rows.ids.astype(self._type).tobytes())
        self._lengths.append(rows.lengths)

    def __exit__(self, *_: object) -> None:
        """Write the offsets, and close the files; raise StorageError if the disk is full."""
        offsets = np.cumsum(np.concatenate(self._lengths), dtype=_OFFSET)
        with storage_errors(self._folder):
            self._write_header(int(offsets[-1]))
            self._ids.close()
            np.save(self._folder / f"{self._side}.offsets.npy", offsets)

    def _write_header(self, count: int) -> None:
        """Write the number of ids to the start of their file; numpy leaves room in a header for a larger number."""
        self._ids.seek(0)
        header = {"descr": self._type.str, "fortran_order": False, "shape": (count,)}
        np.lib.format.write_array_header_1_0(self._ids, header)


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the whole numbers from each start on, as many as its length, all ranges one after the other.

    >>> ranges(np.array([10, 50]), np.array([3, 2])).tolist()
    [10, 11, 12, 50, 51]
    """
    # A range that begins at place p of the result is p, p + 1, … shifted by its start - p.
    result_starts = np.cumsum(lengths, dtype=np.int64) - lengths
    shifts = np.repeat(starts - result_starts, lengths)
    return np.arange(len(shifts)) + shifts


class PairStore:
    """Both sides of a split, whose sources follow each other; pairs are numbered from 0."""

    def __init__(self, folder: Path, pairs: Mapping[str, int], sides: tuple[Side, Side] = ("en", "fa")) -> None:
        """Open the split in `folder`, which has as many `pairs` of each source, by name.

        Raises StorageError: a file is damaged.
        """
        self.folder = folder
        self.pairs = dict(pairs)
        self.sides = sides
        # The number of the first pair of each source; the last entry is the number of all pairs.
        self.starts: NDArray[np.int64] = np.cumsum([0, *pairs.values()], dtype=np.int64)
        self._files = [_mapped(folder, side) for side in sides]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the place of the files, which another process opens itself."""
        return PairStore, (self.folder, self.pairs, self.sides)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def lengths(self, numbers: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the tokens of the sources and the targets of the pairs `numbers`, (N,), in any order.

        Both include the special token that a batch adds to each sentence.
        """
        source, target = (offsets[numbers + 1] - offsets[numbers] + 1 for offsets, _ in self._files)
        return source, target

    def flat(self, numbers: NDArray[np.int64]) -> tuple[FlatRows, FlatRows]:
        """Return the ids of both sides of the pairs `numbers`, (N,), in any order."""
        rows = []
        for offsets, ids in self._files:
            lengths = offsets[numbers + 1] - offsets[numbers]
            places = ranges(offsets[numbers], lengths)
            rows.append(FlatRows(ids=ids[places].astype(np.int32), lengths=lengths))
        source, target = rows
        return source, target

    def usable_by_source(self, row_length: int) -> list[NDArray[np.int64]]:
        """Return, for each source, the numbers of the pairs that fit into a row of `row_length` positions."""
        numbers = np.arange(len(self))
        source_lengths, target_lengths = self.lengths(numbers)
        fits = np.maximum(source_lengths, target_lengths) <= row_length
        usable = numbers[fits]
        first_places = np.searchsorted(usable, self.starts[1:-1])  # of each source but the first
        return np.split(usable, first_places)


def _mapped(folder: Path, side: Side) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return offsets and ids of a side, memory-mapped; raise StorageError if a file has not the size that it names."""
    try:
        # A memmap is slow to slice.
        offsets = np.asarray(np.load(folder / f"{side}.offsets.npy", mmap_mode="r"))
        ids = np.asarray(np.load(folder / f"{side}.ids.npy", mmap_mode="r"))
    except (OSError, ValueError, EOFError) as error:
        raise damaged(f"the token store {folder / side}", str(error), folder.parent) from error
    return offsets, ids
