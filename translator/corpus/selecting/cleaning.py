"""Cleaning, the first step of a preparation: normalize, filter and fold raw pairs, in chunks, in worker processes.

Each pair gets a fate: `TRAIN`, if it passes the filters, or the rule that drops it. The texts go to files, since memory
would not hold those of a large corpus.
"""

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from translator.config import CorpusConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.normalizer.rules import NormalizerRules
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.selecting.duplicates import Hashes, Keys, Numbers, pair_keys
from translator.corpus.selecting.filters import EMPTY, PairFilter
from translator.corpus.selecting.folding import fold
from translator.corpus.selecting.near_duplicates import NearDuplicateIndex, signatures
from translator.corpus.selecting.split import TRAIN, Fates, fate_of
from translator.run.logging import progress_bar
from translator.run.workers import map_in_order

NORMALIZED: Final = ("normalized.en", "normalized.fa")  # what training reads
RAW: Final = ("raw.en", "raw.fa")  # as read, for held-out text and examples
CHUNK_PAIRS: Final = 4096  # in a chunk, which also ends at `_CHUNK_CHARACTERS` characters
_CHUNK_CHARACTERS: Final = 1 << 20

Chunk = tuple[int, list[tuple[int, str, str, str | None]]]
"""The number of a source, and the fields of each `Pair` in a row of them: plain tuples are pickled twice as fast."""


class CleanChunk(NamedTuple):
    """The N pairs of a chunk."""

    number: int  # of the source
    texts: list[bytes]  # a line for each pair, in UTF-8: the two sides of `NORMALIZED`, then those of `RAW`
    lines: Numbers  # (N,) numbers of their lines in the source
    fates: Fates  # (N,)
    keys: Keys  # (N, 2)
    folded: list[str]  # both folded sides of each pair as one text; empty if near-duplicates may stay
    bands: Hashes  # `signatures` of `folded`


class CleanSource(NamedTuple):
    """The N pairs of one source."""

    folder: Path  # of the files `NORMALIZED` and `RAW`
    notes: list[str]  # on what was not read
    lines: Numbers  # (N,) numbers of their lines in the source
    fates: Fates  # (N,)
    keys: Keys  # (N, 2)


def clean_sources(
    config: CorpusConfig, rules: NormalizerRules, folder: Path, index: NearDuplicateIndex, processes: int
) -> list[CleanSource]:
    """Read all sources once, write their texts below `folder`, and return the fates and keys of their pairs.

    Memory: 33 bytes per pair.

    Sources for validation or testing lose only empty and unreadable pairs, so that filters do not change the meaning of
    a score. Raises CorpusError if a source cannot be read.

    Args:
        config: has all sources, additional test sets too.
        rules: all rules of the normalizer; `config` chooses among them.
        folder: an empty folder for the texts.
        index: gets both folded sides of each pair, in the order of the result, unless near-duplicates may stay.
        processes: number of processes that clean text.
    """
    notes: list[list[str]] = [[] for _ in config.sources]  # on what is not read, for each source

    # 1. Read the sources: a generator, so that a source is read only as fast as the workers clean it.
    def chunks() -> Iterator[Chunk]:
        for number, source in enumerate(config.sources):
            with contextlib.closing(read_pairs(source, notes[number].append)) as pairs:
                description = f"cleaning {source.name}"
                pairs_with_bar = progress_bar(pairs, description=description, total=source.max_pairs, unit="pairs")
                for chunk in chunks_of(pairs_with_bar):
                    # A `Pair` becomes a plain tuple, which is pickled faster.
                    yield number, [(line, english, persian, defect) for line, english, persian, defect in chunk]

    # 2. Clean the chunks in worker processes, and join those of each source. The chunks come back in the order of
    # reading, so those of one source follow each other. Each source has at least one.
    sources: list[CleanSource] = []
    with contextlib.closing(map_in_order(partial(Cleaner, config, rules), chunks(), processes)) as clean_chunks:
        for number, chunks_of_source in itertools.groupby(clean_chunks, attrgetter("number")):
            sources.append(_joined(chunks_of_source, notes[number], folder / str(number), index))
    return sources


def chunks_of(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Yield the pairs of a source in one or more chunks; long texts make shorter ones, so that memory stays flat."""
    chunk: list[Pair] = []
    characters = 0
    for pair in pairs:
        if len(chunk) == CHUNK_PAIRS or characters >= _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
        chunk.append(pair)
        characters += len(pair.source) + len(pair.target)
    yield chunk


class Cleaner:
    """Applies the normalizer and the filters of a configuration to chunks, in a worker process."""

    def __init__(self, config: CorpusConfig, rules: NormalizerRules) -> None:
        self._config = config
        self._normalizer = Normalizer(config.normalization, rules=rules)
        self._broken_rule = PairFilter(config.filters).broken_rule

    def __call__(self, chunk: Chunk) -> CleanChunk:
        """Return the pairs of `chunk`, normalized, and the fate of each."""
        # 1. Normalize and filter each pair. Fold those that pass, so that their repetitions can be found.
        number, pairs = chunk
        # Held-out text is not filtered: it loses only empty and unreadable pairs.
        is_filtered = self._config.sources[number].use in ("auto", "train")
        fates: list[int] = []
        texts: list[tuple[str, str, str, str]] = []  # of each pair: both sides normalized, and both as read
        folded: list[tuple[str, str]] = []
        for _, raw_english, raw_persian, defect in pairs:
            english, persian, rule = raw_english, raw_persian, defect
            if defect is None:
                english, persian = self._normalizer.source(english), self._normalizer.target(persian)
                rule = self._broken_rule(english, persian)
                if not is_filtered and rule != EMPTY:
                    rule = None
            fates.append(TRAIN if rule is None else fate_of(rule))
            texts.append((english, persian, raw_english, raw_persian))
            folded.append((fold(english), fold(persian)) if rule is None else ("", ""))

        # 2. The four texts of the chunk: one line of each pair in each, in the order of `CleanChunk.texts`.
        joined_texts = ["".join([f"{row[place]}\n" for row in texts]).encode() for place in range(4)]

        # 3. What the search for near-duplicates compares.
        drops_near_duplicates = self._config.filters.near_duplicates is not None
        folded_pairs = ["|".join(sides) for sides in folded] if drops_near_duplicates else []
        return CleanChunk(
            number=number,
            texts=joined_texts,
            lines=np.array([line for line, *_ in pairs], np.int64),
            fates=np.array(fates, np.int8),
            keys=pair_keys(folded),
            folded=folded_pairs,
            bands=signatures(folded_pairs),
        )


def _joined(chunks: Iterable[CleanChunk], notes: list[str], folder: Path, index: NearDuplicateIndex) -> CleanSource:
    """Join the chunks of a source; write its texts to `folder`, and folded texts and signatures to `index`."""
    folder.mkdir()
    lines: list[Numbers] = []  # in this list and the next two, one array for each chunk
    fates: list[Fates] = []
    keys: list[Keys] = []
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context((folder / name).open("wb")) for name in (*NORMALIZED, *RAW)]
        for chunk in chunks:
            for file, text in zip(files, chunk.texts, strict=True):
                file.write(text)
            index.add(chunk.folded, chunk.bands)
            lines.append(chunk.lines)
            fates.append(chunk.fates)
            keys.append(chunk.keys)
    return CleanSource(
        folder=folder,
        notes=notes,
        lines=np.concatenate(lines),
        fates=np.concatenate(fates),
        keys=np.concatenate(keys),
    )
