"""Token ids of prepared text on disk, memory-mapped: memory does not grow with the corpus.

A store holds one side of one source of one split:

PREFIX.ids       the ids of all sentences, without special tokens: little-endian uint16 if the vocabulary has at
                 most 65,536 pieces, else int32
PREFIX.offsets   little-endian int64: the start of each sentence, and finally the total
PREFIX.json      expected sizes and checksums of the two files, to detect damage
"""

import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from translator.corpus.prepared_corpus import Side
from translator.errors import StorageError
from translator.run.storage import storage_errors, write_json
from translator.subword.flat_rows import FlatRows, Ids

FORMAT: Final = 2  # of a store, and of the folder of stores
_SENTENCES_AT_ONCE: Final = 4096  # converted to bytes at once, small enough for the processor's cache
_OFFSET: Final = np.dtype("<i8")

Item = TypeVar("Item")


class DamagedStoreError(StorageError):
    """A token store is damaged."""


def chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of `size`; the last list may be shorter."""
    iterator = iter(items)
    chunk = list(itertools.islice(iterator, size))
    while chunk:
        yield chunk
        chunk = list(itertools.islice(iterator, size))


# --- one side of one source ---


class TokenWriter:
    """Writes a store piece by piece: `with TokenWriter(...) as writer`, then `writer.append`. Not atomic."""

    def __init__(self, prefix: Path, vocabulary_size: int) -> None:
        """Take the beginning of the names of the three files, and the number of different ids."""
        self._prefix = prefix
        self._vocabulary_size = vocabulary_size
        self._dtype = np.dtype("<u2" if vocabulary_size <= 2**16 else "<i4")
        self._lengths = [np.zeros(0, np.int64)]
        self._ids_crc32 = 0

    def __enter__(self) -> "TokenWriter":
        """Open the file of ids; raise StorageError if the folder is not writable."""
        with storage_errors(self._prefix.parent):
            self._prefix.parent.mkdir(parents=True, exist_ok=True)
            self._file = _file(self._prefix, "ids").open("wb")
        return self

    def append(self, rows: FlatRows) -> None:
        """Write the ids of further sentences; raise StorageError if the disk is full."""
        assert ((rows.ids >= 0) & (rows.ids < self._vocabulary_size)).all()
        content = rows.ids.astype(self._dtype).tobytes()
        with storage_errors(self._prefix.parent):
            self._file.write(content)
        self._ids_crc32 = zlib.crc32(content, self._ids_crc32)
        self._lengths.append(rows.lengths)

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        """Write the other two files, unless an error occurred; raise StorageError if the disk is full."""
        with storage_errors(self._prefix.parent):
            self._file.close()
        if error_type is None:
            self._write_description()

    def _write_description(self) -> None:
        lengths = np.concatenate(self._lengths)
        offsets = np.zeros(len(lengths) + 1, _OFFSET)
        offsets[1:] = np.cumsum(lengths)
        with storage_errors(self._prefix.parent):
            _file(self._prefix, "offsets").write_bytes(offsets.tobytes())
        description = {
            "format": FORMAT,
            "dtype": self._dtype.str,
            "sentences": len(lengths),
            "tokens": int(offsets[-1]),
            "crc32": {"ids": self._ids_crc32, "offsets": zlib.crc32(offsets.tobytes())},
        }
        write_json(_file(self._prefix, "json"), description)


class TokenStore:
    """The ids of the sentences of one side of one source, by number."""

    def __init__(self, ids: NDArray[Any], offsets: NDArray[np.int64]) -> None:
        """Take the ids of N sentences, (T,), and the start of each sentence with the end of the last, (N + 1,)."""
        self._ids = ids
        self._offsets = offsets
        self.lengths: NDArray[np.int32] = np.diff(offsets).astype(np.int32)  # without special tokens

    @staticmethod
    def write(prefix: Path, rows: Iterable[Sequence[int]], vocabulary_size: int) -> None:
        """Stream `rows` of ids to `PREFIX.ids`, `.offsets` and `.json`; not atomic: use it inside `new_folder`.

        Raises StorageError: the disk is full or the folder is not writable.
        """
        with TokenWriter(prefix, vocabulary_size) as writer:
            for chunk in chunks(rows, _SENTENCES_AT_ONCE):
                writer.append(FlatRows.of(chunk))

    @classmethod
    def open(cls, prefix: Path) -> "TokenStore":
        """Return the store at `prefix`, memory-mapped; raise DamagedStoreError if a file is damaged."""
        try:
            description = from_json(_file(prefix, "json").read_bytes())
            dtype = np.dtype(description["dtype"])
            sentences = int(description["sentences"])
            tokens = int(description["tokens"])
            checksums = description["crc32"]
            ids = _map(_file(prefix, "ids"), dtype, tokens, checksums["ids"])
            offsets = _map(_file(prefix, "offsets"), _OFFSET, sentences + 1, checksums["offsets"])
            ascending = bool((np.diff(offsets) >= 0).all())
            if offsets[0] != 0 or offsets[-1] != tokens or not ascending:
                raise ValueError("the offsets do not fit the ids")
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise DamagedStoreError(f"the token store {prefix} is damaged ({error})") from error
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> Ids:
        """Return the ids of sentence `number` (from 0), without special tokens."""
        start = self._offsets[number]
        end = self._offsets[number + 1]
        return self._ids[start:end].astype(np.int32)

    def flat(self, numbers: NDArray[np.int64]) -> Ids:
        """Return the ids of the sentences `numbers`, (N,), one sentence after the other, without special tokens."""
        places = _ranges(self._offsets[numbers], self.lengths[numbers])
        return self._ids[places].astype(np.int32)


def _file(prefix: Path, kind: str) -> Path:
    return prefix.with_name(f"{prefix.name}.{kind}")  # not `with_suffix`: names may contain dots


def _map(path: Path, dtype: np.dtype[Any], count: int, crc32: int) -> NDArray[Any]:
    """Return `count` numbers of `path`, memory-mapped; raise ValueError if size or checksum differs."""
    size = path.stat().st_size
    expected_size = count * dtype.itemsize
    if size != expected_size:
        raise ValueError(f"{path.name} has {size:,} bytes instead of {expected_size:,}")
    numbers: NDArray[Any] = np.empty(0, dtype)
    if count:  # an empty file cannot be mapped
        numbers = np.memmap(path, dtype, mode="r", shape=(count,))
    if zlib.crc32(numbers.data) != crc32:
        raise ValueError(f"the checksum of {path.name} differs")
    return numbers


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the whole numbers from each start on, as many as its length, all ranges one after the other.

    >>> _ranges(np.array([10, 50]), np.array([3, 2])).tolist()
    [10, 11, 12, 50, 51]
    """
    # A range that begins at place p of the result is p, p + 1, … shifted by its start - p.
    result_starts = np.cumsum(lengths, dtype=np.int64) - lengths
    shifts = np.repeat(starts - result_starts, lengths)
    return np.arange(len(shifts)) + shifts


# --- pairs of several sources ---


class PairStore:
    """Pairs of ids of several sources, numbered consecutively; each source has one token store per side."""

    def __init__(self, names: Sequence[str], sources: Sequence[TokenStore], targets: Sequence[TokenStore]) -> None:
        """Take the names of the sources, and the two stores of each, which have equally many sentences."""
        self.names = list(names)
        self._sources = list(sources)
        self._targets = list(targets)
        counts = [len(store) for store in sources]
        assert counts == [len(store) for store in targets]
        # The number of the first pair of each source; the last entry is the number of all pairs.
        self.starts: NDArray[np.int64] = np.cumsum([0, *counts], dtype=np.int64)
        # Each length includes the special token that a batch adds to its side.
        self.source_lengths = _joined_lengths(sources) + 1
        self.target_lengths = _joined_lengths(targets) + 1

    @classmethod
    def open(cls, folder: Path, names: Sequence[str], sides: tuple[Side, Side] = ("en", "fa")) -> "PairStore":
        """Return the pairs in `<folder>/<name>.SIDE` of each source; raise DamagedStoreError if the sides differ."""
        source_side, target_side = sides
        sources = [TokenStore.open(folder / f"{name}.{source_side}") for name in names]
        targets = [TokenStore.open(folder / f"{name}.{target_side}") for name in names]
        for name, source, target in zip(names, sources, targets, strict=True):
            if len(source) != len(target):
                reason = f"{len(source):,} sentences on one side and {len(target):,} on the other"
                raise DamagedStoreError(f"the token store {folder / name} is damaged ({reason})")
        return cls(names, sources, targets)

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def longer_side(self) -> NDArray[np.int32]:
        """Tokens of the longer side of each pair, (N,), with the special token."""
        return np.maximum(self.source_lengths, self.target_lengths)

    def __getitem__(self, number: int) -> tuple[Ids, Ids]:
        """Return the ids of both sides of pair `number`, without special tokens; raise IndexError if it is missing."""
        if not 0 <= number < len(self):
            raise IndexError(f"pair {number} of {len(self)}")
        # The last store that starts at or before this pair has it; empty stores come before.
        store = int(np.searchsorted(self.starts, number, side="right")) - 1
        sentence = number - int(self.starts[store])
        return self._sources[store][sentence], self._targets[store][sentence]

    def flat(self, numbers: NDArray[np.int64]) -> tuple[Ids, Ids]:
        """Return the ids of many pairs, each side one sentence after the other, without special tokens.

        The sentences have `source_lengths[numbers] - 1` and `target_lengths[numbers] - 1` tokens.

        Args:
            numbers: (N,) numbers of pairs in any order; a number may occur several times.

        Raises IndexError: a pair is missing.
        """
        missing = (numbers < 0) | (numbers >= len(self))
        if missing.any():
            raise IndexError(f"pair {numbers[missing][0]} of {len(self)}")
        source_lengths = self.source_lengths[numbers] - 1  # without the special token
        target_lengths = self.target_lengths[numbers] - 1
        stores = np.searchsorted(self.starts, numbers, side="right") - 1
        sentences = numbers - self.starts[stores]
        source_ids = _flat_side(self._sources, stores, sentences, source_lengths)
        target_ids = _flat_side(self._targets, stores, sentences, target_lengths)
        return source_ids, target_ids


def _joined_lengths(stores: Sequence[TokenStore]) -> NDArray[np.int32]:
    no_lengths = np.zeros(0, np.int32)  # for no stores at all
    return np.concatenate([no_lengths, *(store.lengths for store in stores)])


def _flat_side(
    token_stores: Sequence[TokenStore],
    stores: NDArray[np.int64],
    sentences: NDArray[np.int64],
    lengths: NDArray[np.int32],
) -> Ids:
    """Return the ids of one side of N pairs, one sentence after the other; loops over stores, not over pairs.

    Args:
        token_stores: the stores of this side, one for each source.
        stores: (N,) the index of each pair's store.
        sentences: (N,) the number of each sentence in its store.
        lengths: (N,) tokens of each sentence.
    """
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    flat_ids = np.empty(int(lengths.sum()), np.int32)
    for store in np.unique(stores):
        # Read all sentences of this store at once, and put each at its place in the result.
        pairs = np.flatnonzero(stores == store)
        places = _ranges(starts[pairs], lengths[pairs])
        flat_ids[places] = token_stores[store].flat(sentences[pairs])
    return flat_ids
