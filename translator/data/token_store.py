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
from typing import Any, Final, NamedTuple, TypeVar

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
        self._sentences = 0
        self._tokens = 0

    def __enter__(self) -> "TokenWriter":
        """Open the files of ids and offsets; raise StorageError if the folder is not writable."""
        with storage_errors(self._prefix.parent):
            self._prefix.parent.mkdir(parents=True, exist_ok=True)
            self._ids = _CheckedFile(_file(self._prefix, "ids"))
            self._offsets = _CheckedFile(_file(self._prefix, "offsets"))
            self._offsets.write(np.zeros(1, _OFFSET))
        return self

    def append(self, rows: FlatRows) -> None:
        """Write the ids of more sentences; raise StorageError if the disk is full."""
        assert ((rows.ids >= 0) & (rows.ids < self._vocabulary_size)).all()
        ends = self._tokens + np.cumsum(rows.lengths, dtype=_OFFSET)
        with storage_errors(self._prefix.parent):
            self._ids.write(rows.ids.astype(self._dtype))
            self._offsets.write(ends)
        self._sentences += len(rows.lengths)
        self._tokens += len(rows.ids)

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        """Write the description, unless an error occurred; raise StorageError if the disk is full."""
        with storage_errors(self._prefix.parent):
            self._ids.close()
            self._offsets.close()
        if error_type is None:
            self._write_description()

    def _write_description(self) -> None:
        description = {
            "format": FORMAT,
            "dtype": self._dtype.str,
            "sentences": self._sentences,
            "tokens": self._tokens,
            "crc32": {"ids": self._ids.crc32, "offsets": self._offsets.crc32},
        }
        write_json(_file(self._prefix, "json"), description)


class _CheckedFile:
    """A file that is written from its beginning, and the checksum of its content."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self.crc32 = 0

    def write(self, numbers: NDArray[Any]) -> None:
        content = numbers.tobytes()
        self._file.write(content)
        self.crc32 = zlib.crc32(content, self.crc32)

    def close(self) -> None:
        self._file.close()


class TokenStore:
    """The ids of the sentences of one side of one source, by number."""

    def __init__(self, ids: NDArray[Any], offsets: NDArray[np.int64]) -> None:
        """Take the ids of N sentences, (T,), and the start of each sentence with the end of the last, (N + 1,)."""
        self._ids = ids
        self._offsets = offsets

    @staticmethod
    def write(prefix: Path, rows: Iterable[Sequence[int]], vocabulary_size: int) -> None:
        """Stream `rows` of ids to `PREFIX.ids`, `.offsets` and `.json`; not atomic: use it inside `new_folder`.

        Raises StorageError: the disk is full or the folder is not writable.
        """
        with TokenWriter(prefix, vocabulary_size) as writer:
            for chunk in chunks(rows, _SENTENCES_AT_ONCE):
                writer.append(FlatRows.of(chunk))

    @classmethod
    def open(cls, prefix: Path, *, verify: bool = True) -> "TokenStore":
        """Return the store at `prefix`, memory-mapped; raise DamagedStoreError if a file is damaged.

        Without `verify`, only the sizes of the files are checked, not their content.
        """
        try:
            description = from_json(_file(prefix, "json").read_bytes())
            dtype = np.dtype(description["dtype"])
            sentences = int(description["sentences"])
            tokens = int(description["tokens"])
            checksums = description["crc32"] if verify else {}
            ids = _map(_file(prefix, "ids"), dtype, tokens, checksums.get("ids"))
            offsets = _map(_file(prefix, "offsets"), _OFFSET, sentences + 1, checksums.get("offsets"))
            if offsets[0] != 0 or offsets[-1] != tokens:
                raise ValueError("the offsets do not fit the ids")
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise DamagedStoreError(f"the token store {prefix} is damaged ({error})") from error
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def lengths(self, numbers: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return the tokens of each of the sentences `numbers`, (N,), without special tokens."""
        lengths: NDArray[np.int64] = self._offsets[numbers + 1] - self._offsets[numbers]
        return lengths

    def __getitem__(self, number: int) -> Ids:
        """Return the ids of sentence `number` (from 0), without special tokens."""
        start = self._offsets[number]
        end = self._offsets[number + 1]
        return self._ids[start:end].astype(np.int32)

    def flat(self, numbers: NDArray[np.int64]) -> Ids:
        """Return the ids of the sentences `numbers`, (N,), one sentence after the other, without special tokens."""
        places = ranges(self._offsets[numbers], self.lengths(numbers))
        return self._ids[places].astype(np.int32)


def _file(prefix: Path, kind: str) -> Path:
    return prefix.with_name(f"{prefix.name}.{kind}")  # not `with_suffix`: names may contain dots


def _map(path: Path, dtype: np.dtype[Any], count: int, crc32: int | None) -> NDArray[Any]:
    """Return `count` numbers of `path`, memory-mapped; raise ValueError if the size or a checksum differs."""
    size = path.stat().st_size
    expected_size = count * dtype.itemsize
    if size != expected_size:
        raise ValueError(f"{path.name} has {size:,} bytes instead of {expected_size:,}")
    numbers: NDArray[Any] = np.empty(0, dtype)
    if count:  # an empty file cannot be mapped
        numbers = np.memmap(path, dtype, mode="r", shape=(count,)).view(np.ndarray)  # a memmap is slow to slice
    if crc32 is not None and zlib.crc32(numbers.data) != crc32:
        raise ValueError(f"the checksum of {path.name} differs")
    return numbers


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the whole numbers from each start on, as many as its length, all ranges one after the other.

    >>> ranges(np.array([10, 50]), np.array([3, 2])).tolist()
    [10, 11, 12, 50, 51]
    """
    # A range that begins at place p of the result is p, p + 1, … shifted by its start - p.
    result_starts = np.cumsum(lengths, dtype=np.int64) - lengths
    shifts = np.repeat(starts - result_starts, lengths)
    return np.arange(len(shifts)) + shifts


# --- pairs of several sources ---


class PairLengths(NamedTuple):
    """The tokens of N pairs; each side includes the special token that a batch adds to it."""

    source: NDArray[np.int64]  # (N,)
    target: NDArray[np.int64]  # (N,)

    @property
    def longer_side(self) -> NDArray[np.int64]:
        """Tokens of the longer side of each pair, (N,)."""
        return np.maximum(self.source, self.target)


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

    @classmethod
    def open(
        cls, folder: Path, names: Sequence[str], sides: tuple[Side, Side] = ("en", "fa"), *, verify: bool = True
    ) -> "PairStore":
        """Return the pairs in `<folder>/<name>.SIDE` of each source; `verify` as in `TokenStore.open`.

        Raises DamagedStoreError: a file is damaged, or the sides of a source differ in their number of sentences.
        """
        source_side, target_side = sides
        sources = [TokenStore.open(folder / f"{name}.{source_side}", verify=verify) for name in names]
        targets = [TokenStore.open(folder / f"{name}.{target_side}", verify=verify) for name in names]
        for name, source, target in zip(names, sources, targets, strict=True):
            if len(source) != len(target):
                reason = f"{len(source):,} sentences on one side and {len(target):,} on the other"
                raise DamagedStoreError(f"the token store {folder / name} is damaged ({reason})")
        return cls(names, sources, targets)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def lengths(self, numbers: NDArray[np.integer[Any]]) -> PairLengths:
        """Return the tokens of the pairs `numbers`, (N,), in any order."""
        places = self._places(numbers)
        lengths = PairLengths(source=np.ones(len(numbers), np.int64), target=np.ones(len(numbers), np.int64))
        for store in np.unique(places.stores):
            pairs = np.flatnonzero(places.stores == store)
            sentences = places.sentences[pairs]
            lengths.source[pairs] += self._sources[store].lengths(sentences)
            lengths.target[pairs] += self._targets[store].lengths(sentences)
        return lengths

    def _places(self, numbers: NDArray[np.integer[Any]]) -> "_Places":
        # The last store that starts at or before a pair has it; empty stores come before.
        stores = np.searchsorted(self.starts, numbers, side="right") - 1
        return _Places(stores=stores, sentences=numbers - self.starts[stores])

    def __getitem__(self, number: int) -> tuple[Ids, Ids]:
        """Return the ids of both sides of pair `number`, without special tokens; raise IndexError if it is missing."""
        if not 0 <= number < len(self):
            raise IndexError(f"pair {number} of {len(self)}")
        places = self._places(np.array([number]))
        store = int(places.stores[0])
        sentence = int(places.sentences[0])
        return self._sources[store][sentence], self._targets[store][sentence]

    def flat(self, numbers: NDArray[np.int64]) -> tuple[Ids, Ids]:
        """Return the ids of many pairs, each side one sentence after the other, without special tokens.

        The sentences have `lengths(numbers).source - 1` and `lengths(numbers).target - 1` tokens.

        Args:
            numbers: (N,) numbers of pairs in any order; a number may occur several times.

        Raises IndexError: a pair is missing.
        """
        missing = (numbers < 0) | (numbers >= len(self))
        if missing.any():
            raise IndexError(f"pair {numbers[missing][0]} of {len(self)}")
        places = self._places(numbers)
        lengths = self.lengths(numbers)
        # Without the special token.
        source_ids = _flat_side(self._sources, places, lengths.source - 1)
        target_ids = _flat_side(self._targets, places, lengths.target - 1)
        return source_ids, target_ids


class _Places(NamedTuple):
    """Where the ids of N pairs are."""

    stores: NDArray[np.int64]  # (N,) the index of each pair's store
    sentences: NDArray[np.int64]  # (N,) its number in that store


def _flat_side(token_stores: Sequence[TokenStore], places: _Places, lengths: NDArray[np.int64]) -> Ids:
    """Return the ids of one side of N pairs, one sentence after the other; loops over stores, not over pairs.

    Args:
        token_stores: the stores of this side, one for each source.
        places: where each of the N pairs is: its store and its number there.
        lengths: (N,) tokens of each sentence, without special tokens.
    """
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    flat_ids = np.empty(int(lengths.sum()), np.int32)
    for store in np.unique(places.stores):
        # Read all sentences of this store at once, and put each at its place in the result.
        pairs = np.flatnonzero(places.stores == store)
        flat_places = ranges(starts[pairs], lengths[pairs])
        flat_ids[flat_places] = token_stores[store].flat(places.sentences[pairs])
    return flat_ids
