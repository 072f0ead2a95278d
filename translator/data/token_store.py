"""Token ids of prepared text on disk, memory-mapped: memory does not grow with the corpus.

A store holds one side of one source of one split:

PREFIX.ids       the ids of all sentences, without special tokens: little-endian uint16 if the vocabulary has at
                 most 65,536 pieces, else int32
PREFIX.offsets   little-endian int64: the start of each sentence, and finally the total
PREFIX.json      expected sizes and checksums of the two files, to detect damage
"""

import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from translator.config import NormalizationConfig
from translator.config.resuming import fingerprint_of
from translator.corpus.normalizer import NORMALIZER_VERSION, Normalizer
from translator.corpus.prepare import PreparedCorpus, Side
from translator.errors import StorageError
from translator.run.folder import DIGITS_IN_NAME, prepared_folder
from translator.run.logging import LOGGER, progress_bar
from translator.run.storage import new_folder, storage_errors, write_json
from translator.subword import SubwordModel, SubwordPair
from translator.subword.placeholders import PLACEHOLDERS_VERSION, cut_out_of_pair

StoredSplit = Literal["train", "validation"]
STORED_SPLITS: Final[tuple[StoredSplit, ...]] = ("train", "validation")
"""The splits with stored ids; the test split is translated from its text."""
Ids = NDArray[np.int32]

_FORMAT: Final = 2  # of a store, and of the folder of stores
_CHUNK: Final = 4096  # rows converted at once, small enough for the processor's cache
_LINES_AT_ONCE: Final = 2048  # lines that SentencePiece divides among its threads; larger blocks are slower
_OFFSET: Final = np.dtype("<i8")


class DamagedStoreError(StorageError):
    """A token store is damaged."""


class TokenStore:
    """The ids of the sentences of one side of one source, by number."""

    def __init__(self, ids: NDArray[Any], offsets: NDArray[np.int64]) -> None:
        self._ids = ids
        self._offsets = offsets
        self.lengths: NDArray[np.int32] = np.diff(offsets).astype(np.int32)  # without special tokens

    @staticmethod
    def write(prefix: Path, rows: Iterable[Sequence[int]], vocabulary_size: int) -> None:
        """Stream `rows` of ids to `PREFIX.ids`, `.offsets` and `.json`; not atomic: use it inside `new_folder`.

        Raises StorageError: the disk is full or the folder is not writable.
        """
        dtype = np.dtype("<u2") if vocabulary_size <= 2**16 else np.dtype("<i4")
        rows, crc32, lengths = iter(rows), 0, [np.zeros(1, np.int64)]
        with storage_errors(prefix.parent):
            prefix.parent.mkdir(parents=True, exist_ok=True)
            with _file(prefix, "ids").open("wb") as file:
                while chunk := list(itertools.islice(rows, _CHUNK)):
                    lengths.append(np.fromiter(map(len, chunk), np.int64, len(chunk)))
                    flat = np.fromiter(itertools.chain.from_iterable(chunk), np.int32, int(lengths[-1].sum()))
                    assert flat.size == 0 or 0 <= int(flat.min()) <= int(flat.max()) < vocabulary_size
                    content = flat.astype(dtype).tobytes()
                    crc32 = zlib.crc32(content, crc32)
                    file.write(content)
            offsets = np.cumsum(np.concatenate(lengths)).astype(_OFFSET)
            _file(prefix, "offsets").write_bytes(offsets.tobytes())
        sums = {"ids": crc32, "offsets": zlib.crc32(offsets.tobytes())}
        counts = {"sentences": len(offsets) - 1, "tokens": int(offsets[-1])}
        write_json(_file(prefix, "json"), {"format": _FORMAT, "dtype": dtype.str, **counts, "crc32": sums})

    @classmethod
    def open(cls, prefix: Path) -> "TokenStore":
        """Return the store at `prefix`, memory-mapped; raise DamagedStoreError if a file is damaged."""
        try:
            record = json.loads(_file(prefix, "json").read_text("utf-8"))
            dtype, sentences, tokens = np.dtype(record["dtype"]), int(record["sentences"]), int(record["tokens"])
            ids = _map(_file(prefix, "ids"), dtype, tokens, record["crc32"]["ids"])
            offsets = _map(_file(prefix, "offsets"), _OFFSET, sentences + 1, record["crc32"]["offsets"])
            if offsets[0] != 0 or offsets[-1] != tokens or bool((np.diff(offsets) < 0).any()):
                raise ValueError("the offsets do not fit the ids")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DamagedStoreError(f"the token store {prefix} is damaged ({error})") from error
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> Ids:
        """Return the ids of sentence `number` (from 0), without special tokens."""
        return self._ids[self._offsets[number] : self._offsets[number + 1]].astype(np.int32)


def _file(prefix: Path, kind: str) -> Path:
    return prefix.with_name(f"{prefix.name}.{kind}")  # not `with_suffix`: names may contain dots


def _map(path: Path, dtype: np.dtype[Any], count: int, crc32: int) -> NDArray[Any]:
    """Return `count` numbers of `path`, memory-mapped; raise ValueError if size or checksum differs."""
    size = path.stat().st_size
    if size != count * dtype.itemsize:
        raise ValueError(f"{path.name} has {size:,} bytes instead of {count * dtype.itemsize:,}")
    numbers = np.memmap(path, dtype, mode="r", shape=(count,)) if count else np.empty(0, dtype)
    if zlib.crc32(numbers.data) != crc32:
        raise ValueError(f"the checksum of {path.name} differs")
    return numbers


class PairStore:
    """Pairs of ids of several sources, numbered consecutively; each source has one token store per side."""

    def __init__(self, names: Sequence[str], sources: Sequence[TokenStore], targets: Sequence[TokenStore]) -> None:
        self.names = list(names)
        self._sources = list(sources)
        self._targets = list(targets)
        assert all(len(one) == len(other) for one, other in zip(sources, targets, strict=True))
        # Index of the first pair of each source; the last entry is the number of all pairs.
        self.starts: NDArray[np.int64] = np.cumsum([0, *map(len, sources)], dtype=np.int64)
        none = [np.zeros(0, np.int32)]
        # Each length includes the special token that a batch adds to its side.
        self.source_lengths: NDArray[np.int32] = np.concatenate([store.lengths for store in sources] or none) + 1
        self.target_lengths: NDArray[np.int32] = np.concatenate([store.lengths for store in targets] or none) + 1

    @classmethod
    def open(cls, folder: Path, names: Sequence[str], sides: tuple[Side, Side] = ("en", "fa")) -> "PairStore":
        """Return the pairs in `<folder>/<name>.SIDE` of each source; raise DamagedStoreError if the sides differ."""
        sources, targets = ([TokenStore.open(folder / f"{name}.{side}") for name in names] for side in sides)
        for name, source, target in zip(names, sources, targets, strict=True):
            if len(source) != len(target):
                reason = f"{len(source):,} sentences on one side and {len(target):,} on the other"
                raise DamagedStoreError(f"the token store {folder / name} is damaged ({reason})")
        return cls(names, sources, targets)

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def longer_side(self) -> NDArray[np.int32]:
        """Tokens of the longer side of each pair, with the special token."""
        return np.maximum(self.source_lengths, self.target_lengths)

    def __getitem__(self, number: int) -> tuple[Ids, Ids]:
        if not 0 <= number < len(self):
            raise IndexError(f"pair {number} of {len(self)}")
        part = int(np.searchsorted(self.starts, number, side="right")) - 1
        place = number - int(self.starts[part])
        return self._sources[part][place], self._targets[part][place]


def open_tokens(
    corpus: PreparedCorpus, subword: SubwordPair, normalization: NormalizationConfig, prepared_directory: Path
) -> tuple[dict[StoredSplit, PairStore], Path, str]:
    """Return the encoded training and validation text, their folder and its fingerprint (16 hex digits).

    Stores are in `<prepared_directory>/tokens-<fingerprint>` as `<split>/<source name>.en` and `.fa`. They are written
    if missing, and rewritten with a warning if damaged.

    Raises StorageError: the folder is not writable, written data is unreadable, or the prepared text is damaged.
    """
    made_from = {
        "format": _FORMAT,
        "corpus": corpus.fingerprint,
        "subword": subword.sha256,
        "normalization": normalization.model_dump(mode="json"),
        "normalizer": NORMALIZER_VERSION,
        "placeholders": PLACEHOLDERS_VERSION if subword.source.placeholders else None,
    }
    if corpus.sides[0] == "fa":
        made_from["direction"] = "fa-en"
    fingerprint = fingerprint_of(made_from)[:DIGITS_IN_NAME]
    folder = prepared_folder(prepared_directory, "tokens", fingerprint)

    def stores() -> dict[StoredSplit, PairStore]:
        return {split: PairStore.open(folder / split, corpus.names(split), corpus.sides) for split in STORED_SPLITS}

    if folder.exists():
        try:
            return stores(), folder, fingerprint
        except DamagedStoreError as damage:
            LOGGER.warning(f"{damage}; recreating {folder} from the prepared text")
    _write(corpus, subword, Normalizer(normalization, corpus.languages), folder)
    try:
        return stores(), folder, fingerprint
    except DamagedStoreError as damage:
        raise StorageError(f"{damage} directly after writing; check the disk") from damage


def _write(corpus: PreparedCorpus, subword: SubwordPair, normalizer: Normalizer, folder: Path) -> None:
    """Encode the stored splits; training text is already normalized, validation text is not."""
    sides = list(enumerate(zip(corpus.sides, (subword.source, subword.target), strict=True)))
    parts: list[tuple[StoredSplit, str]] = [(split, name) for split in STORED_SPLITS for name in corpus.names(split)]
    with new_folder(folder) as beside:
        for (split, name), (place, (side, model)) in itertools.product(parts, sides):
            pairs: Iterable[tuple[str, str]] = progress_bar(
                corpus.pairs(split, name),
                description=f"Encoding {split} {name}.{side}",
                total=corpus.count(split, name),
                unit=" lines",
            )
            if split == "validation":
                pairs = ((normalizer.source(source), normalizer.target(target)) for source, target in pairs)
            if subword.source.placeholders:
                pairs = (cut_out_of_pair(*pair, list(subword.source.placeholders)) for pair in pairs)
            prefix = beside / split / f"{name}.{side}"
            lines = (pair[place] for pair in pairs)
            TokenStore.write(prefix, _encoded(lines, model), model.vocabulary_size)


def _encoded(lines: Iterable[str], model: SubwordModel) -> Iterator[list[int]]:
    lines = iter(lines)
    while chunk := list(itertools.islice(lines, _LINES_AT_ONCE)):
        yield from model.encode(chunk)
