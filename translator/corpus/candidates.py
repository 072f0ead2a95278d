"""The first pass over all sources: what passes the filters is set aside on disk, its keys are kept in memory."""

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from translator.config import CorpusConfig, SourceConfig
from translator.corpus.cleaning import Chunk, CleanChunk, Cleaner, chunks_of
from translator.corpus.duplicates import PairKeys, Shelf, keys_from_bytes
from translator.corpus.examples import ExampleCollector
from translator.corpus.sources import read_pairs
from translator.progress import progress_bar
from translator.workers import map_in_order


@dataclass(frozen=True)
class Candidates:
    """The N pairs of one source that passed the filters."""

    source: SourceConfig
    folder: Path
    read: int
    dropped: Counter[str]
    """Pairs dropped so far, by rule."""
    examples: ExampleCollector
    """Of what was dropped so far."""
    keys: PairKeys
    line_numbers: NDArray[np.int64]
    """(N,) 1-based numbers of the lines in the source."""

    def __len__(self) -> int:
        return len(self.line_numbers)

    @property
    def normalized(self) -> tuple[Path, Path]:
        """The pairs, English and Persian, a line each."""
        return self.folder / "normalized.en", self.folder / "normalized.fa"

    @property
    def raw(self) -> tuple[Path, Path]:
        """The same pairs as read."""
        return self.folder / "raw.en", self.folder / "raw.fa"


def collect_candidates(
    config: CorpusConfig, test_sets: Sequence[SourceConfig], folder: Path, shelf: Shelf, processes: int
) -> list[Candidates]:
    """Stream all sources once, writing their good pairs to folders in `folder`; memory: 32 bytes a pair.

    A source that is named as validation or test set, and a further test set, are taken as they are, but for empty
    and unreadable pairs: a filter must not change what a score means.

    Args:
        test_sets: further test sets, which come after the sources in the result.
        folder: an empty folder for the texts.
        shelf: takes both folded sides of each pair, in the order of the result, unless near-duplicates may stay.

    Raises:
        CorpusError: a source cannot be read.
        StorageError: the disk is full.
    """
    collected = []
    sources = [*config.sources, *test_sets]
    cleaner = partial(Cleaner, config.normalization, config.filters)
    cleaned = map_in_order(cleaner, _all_chunks(config.sources, test_sets), processes)
    with contextlib.closing(cleaned):
        waiting = next(cleaned, None)
        for number, source in enumerate(sources):
            place = folder / str(number)
            place.mkdir(exist_ok=True)
            collector = _Collector(source, place)
            with collector:
                while waiting is not None and waiting.number == number:
                    collector.add(waiting)
                    shelf.put(waiting.folded)
                    waiting = next(cleaned, None)
            collected.append(collector.candidates())
    return collected


def _all_chunks(sources: Sequence[SourceConfig], test_sets: Sequence[SourceConfig]) -> Iterator[Chunk]:
    for number, source in enumerate((*sources, *test_sets)):
        filtered = number < len(sources) and source.use in ("auto", "train")
        with contextlib.closing(read_pairs(source)) as pairs:
            shown = progress_bar(pairs, description=f"cleaning {source.name}", total=source.max_pairs, unit="pairs")
            yield from chunks_of(iter(shown), number, source.name, filtered)


class _Collector:
    """Writes what is left of one source, chunk by chunk."""

    def __init__(self, source: SourceConfig, folder: Path) -> None:
        self._source, self._folder = source, folder
        self._read = 0
        self._dropped: Counter[str] = Counter()
        self._examples = ExampleCollector(source.name)
        self._keys = (bytearray(), bytearray())
        self._lines = bytearray()
        self._stack = contextlib.ExitStack()
        self._files: list[BinaryIO] = []

    def __enter__(self) -> None:
        names = ("normalized.en", "normalized.fa", "raw.en", "raw.fa")
        self._files = [self._stack.enter_context((self._folder / name).open("wb")) for name in names]

    def __exit__(self, *failure: object) -> None:
        self._stack.close()

    def add(self, chunk: CleanChunk) -> None:
        self._read += chunk.read
        self._dropped += chunk.dropped
        self._examples.merge(chunk.examples)
        for file, content in zip(self._files, (*chunk.normalized, *chunk.raw), strict=True):
            file.write(content)
        for keys, more in zip(self._keys, chunk.keys, strict=True):
            keys += more
        self._lines += chunk.lines.tobytes()

    def candidates(self) -> Candidates:
        return Candidates(
            self._source,
            self._folder,
            self._read,
            self._dropped,
            self._examples,
            keys_from_bytes(*self._keys),
            line_numbers=np.frombuffer(self._lines, np.int64),
        )
