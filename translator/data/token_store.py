"""Token ids of one side of one corpus part, on disk and memory-mapped: memory does not grow with the corpus.

PREFIX.ids       every sentence's ids, one after another, without special tokens: little-endian uint16 where the
                 vocabulary allows it (at most 65,536 pieces), else int32
PREFIX.offsets   little-endian int64: where each sentence starts, and at the end the total
PREFIX.json      what the two files must hold, with their check sums, so that a damaged one is recognised
"""

import itertools
import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from translator.errors import StorageError
from translator.storage import storage_errors, write_json

_FORMAT: Final = 2
_CHUNK: Final = 4096
"""Rows converted at once: few enough to stay in the processor's cache."""
_OFFSET: Final = np.dtype("<i8")


class DamagedStoreError(StorageError):
    """A token store is not what was written there."""


class TokenStore:
    """The sentences of one side of one corpus part, by number."""

    def __init__(self, ids: NDArray[Any], offsets: NDArray[np.int64]) -> None:
        """Take the ids of all sentences (any integer type) and the offsets (one more than there are sentences)."""
        self._ids = ids
        self._offsets = offsets
        self.lengths: NDArray[np.int32] = np.diff(offsets).astype(np.int32)
        """Tokens of each sentence, special tokens not counted."""

    @staticmethod
    def write(prefix: Path, rows: Iterable[Sequence[int]], vocabulary_size: int) -> int:
        """Stream `rows` of ids to `PREFIX.ids`, `.offsets` and `.json`, and return how many there were.

        Not atomic by itself: write inside `storage.new_folder`.

        Raises:
            StorageError: the disk is full or the folder may not be written.
        """
        dtype = np.dtype("<u2") if vocabulary_size <= 2**16 else np.dtype("<i4")
        sentences = tokens = 0
        rows = iter(rows)
        with storage_errors(prefix.parent):
            prefix.parent.mkdir(parents=True, exist_ok=True)
            with _file(prefix, "ids").open("wb") as ids_file, _file(prefix, "offsets").open("wb") as offsets_file:
                ids, offsets = _Checked(ids_file), _Checked(offsets_file)
                offsets.write(np.zeros(1, _OFFSET))
                while chunk := list(itertools.islice(rows, _CHUNK)):
                    lengths = np.fromiter(map(len, chunk), np.int64, len(chunk))
                    offsets.write((tokens + np.cumsum(lengths)).astype(_OFFSET))
                    flat = np.fromiter(itertools.chain.from_iterable(chunk), np.int32, int(lengths.sum()))
                    assert flat.size == 0 or 0 <= int(flat.min()) <= int(flat.max()) < vocabulary_size
                    ids.write(flat.astype(dtype))
                    sentences += len(chunk)
                    tokens += flat.size
        write_json(
            _file(prefix, "json"),
            {
                "format": _FORMAT,
                "dtype": dtype.str,
                "sentences": sentences,
                "tokens": tokens,
                "crc32": {"ids": ids.crc32, "offsets": offsets.crc32},
            },
        )
        return sentences

    @classmethod
    def open(cls, prefix: Path) -> "TokenStore":
        """Map the store at `prefix` into memory, and read it through once to see that it is whole.

        Raises:
            DamagedStoreError: a file is missing, cut short or otherwise not what was written.
        """
        try:
            record = json.loads(_file(prefix, "json").read_text("utf-8"))
            dtype, sentences, tokens = np.dtype(record["dtype"]), int(record["sentences"]), int(record["tokens"])
            ids = _map(_file(prefix, "ids"), dtype, tokens, record["crc32"]["ids"])
            offsets = _map(_file(prefix, "offsets"), _OFFSET, sentences + 1, record["crc32"]["offsets"])
            if offsets[0] != 0 or offsets[-1] != tokens or bool((np.diff(offsets) < 0).any()):
                raise ValueError("the offsets do not fit the ids")
        except (OSError, ValueError, KeyError, TypeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise DamagedStoreError(f"the token store {prefix} is damaged ({reason})") from error
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> NDArray[np.int32]:
        """Return the ids of sentence `number` (from 0), without special tokens."""
        if not 0 <= number < len(self):
            raise IndexError(f"sentence {number} of {len(self)}")
        return self._ids[self._offsets[number] : self._offsets[number + 1]].astype(np.int32)


class _Checked:
    """A file being written, with the check sum of all that went into it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.crc32 = 0

    def write(self, numbers: NDArray[Any]) -> None:
        content = numbers.tobytes()
        self.crc32 = zlib.crc32(content, self.crc32)
        self._file.write(content)


def _file(prefix: Path, kind: str) -> Path:
    """Return the path of one file of a store; a source's name may hold dots, so `with_suffix` will not do."""
    return prefix.with_name(f"{prefix.name}.{kind}")


def _map(path: Path, dtype: np.dtype[Any], count: int, crc32: int) -> NDArray[Any]:
    """Map `count` numbers of `path`; a file of another size or check sum is a ValueError."""
    size = path.stat().st_size
    if size != count * dtype.itemsize:
        raise ValueError(f"{path.name} has {size:,} bytes, {count * dtype.itemsize:,} were written")
    numbers = np.memmap(path, dtype, mode="r", shape=(count,)) if count else np.empty(0, dtype)
    if zlib.crc32(numbers.data) != crc32:
        raise ValueError(f"the check sum of {path.name} is not the one that was written")
    return numbers
