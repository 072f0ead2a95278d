"""Cleaning, the first step of a preparation: normalize, filter and fold raw pairs, in chunks, in worker processes.

The pairs that pass are the candidates: their texts go to files, since memory would not hold those of a large corpus.
"""

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from translator.config import CorpusConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.normalizer.rules import NormalizerRules
from translator.corpus.preparation_counts import SourceReport
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.selecting.duplicates import Hashes, Keys, Numbers, pair_keys
from translator.corpus.selecting.filters import EMPTY, PairFilter
from translator.corpus.selecting.folding import fold
from translator.corpus.selecting.near_duplicates import NearDuplicateIndex, signatures
from translator.run.logging import progress_bar
from translator.run.workers import map_in_order

NORMALIZED: Final = ("normalized.en", "normalized.fa")  # what training reads
RAW: Final = ("raw.en", "raw.fa")  # as read, for held-out text and examples
_CHUNK_PAIRS: Final = 4096  # pairs in a chunk, which also ends at `_CHUNK_CHARACTERS` characters
_CHUNK_CHARACTERS: Final = 1 << 20

RawPairs = list[tuple[int, str, str, str | None]]  # the fields of each `Pair`, as tuples that pickle faster
Chunk = tuple[int, RawPairs]
"""Consecutive pairs, and the number of their source."""


class CleanChunk(NamedTuple):
    """The N pairs of a chunk that passed the filters, and counts of all."""

    number: int  # of the source
    report: SourceReport
    texts: tuple[bytes, ...]  # a line for each pair, in UTF-8: the two sides of `NORMALIZED`, then those of `RAW`
    lines: Numbers  # (N,) numbers of their lines in the source
    keys: Keys  # (N, 2)
    folded: list[str]  # both folded sides of each pair as one text; empty if near-duplicates may stay
    bands: Hashes  # `signatures` of `folded`


class Candidates(NamedTuple):
    """The N pairs of one source that passed the filters, and counts of all."""

    report: SourceReport
    folder: Path  # of the files `NORMALIZED` and `RAW`
    lines: Numbers  # (N,) numbers of their lines in the source
    keys: Keys  # (N, 2)


def collect_candidates(
    config: CorpusConfig, rules: NormalizerRules, folder: Path, index: NearDuplicateIndex, processes: int
) -> list[Candidates]:
    """Read all sources once; write the pairs that pass the filters below `folder`; memory: 32 bytes per pair.

    Sources for validation or testing lose only empty and unreadable pairs, so that filters do not change the meaning of
    a score. Raises CorpusError if a source cannot be read.

    Args:
        config: has all sources, additional test sets too.
        rules: all rules of the normalizer; `config` chooses among them.
        folder: an empty folder for the texts.
        index: gets both folded sides of each pair, in the order of the result, unless near-duplicates may stay.
        processes: number of processes that clean text.
    """
    notes: list[list[str]] = [[] for _ in config.sources]

    # A generator, so that a source is read only as fast as the workers clean it.
    def chunks() -> Iterator[Chunk]:
        for number, source in enumerate(config.sources):
            with contextlib.closing(read_pairs(source, notes[number].append)) as pairs:
                shown = progress_bar(pairs, description=f"cleaning {source.name}", total=source.max_pairs, unit="pairs")
                for chunk in chunks_of(shown):
                    yield number, chunk

    # The chunks come back in the order of reading, so those of a source stand together.
    candidates: list[Candidates] = []
    with contextlib.closing(map_in_order(partial(Cleaner, config, rules), chunks(), processes)) as clean_chunks:
        for number, source_chunks in itertools.groupby(clean_chunks, attrgetter("number")):
            source = config.sources[number]
            report = SourceReport(name=source.name, use=source.use, notes=notes[number])
            candidates.append(_joined(source_chunks, report, folder / str(number), index))
    return candidates


def chunks_of(pairs: Iterable[Pair]) -> Iterator[RawPairs]:
    """Yield the pairs of a source in one or more chunks; their borders depend only on the pairs."""
    chunk: RawPairs = []
    characters = 0
    for pair in pairs:
        if len(chunk) == _CHUNK_PAIRS or characters >= _CHUNK_CHARACTERS:
            yield chunk
            chunk = []
            characters = 0
        chunk.append((pair.line, pair.source, pair.target, pair.defect))
        characters += len(pair.source) + len(pair.target)
    yield chunk


class Cleaner:
    """Applies the normalizer and the filters of a configuration to chunks, in a worker process."""

    def __init__(self, config: CorpusConfig, rules: NormalizerRules) -> None:
        self._config = config
        self._normalizer = Normalizer(config.normalization, rules=rules)
        self._broken_rule = PairFilter(config.filters).broken_rule

    def __call__(self, chunk: Chunk) -> CleanChunk:
        """Return the pairs of `chunk` that pass the filters, normalized."""
        # 1. Normalize and filter each pair.
        number, pairs = chunk
        source = self._config.sources[number]
        is_filtered = source.use in ("auto", "train")
        report = SourceReport(name=source.name, use=source.use, read=len(pairs))
        lines: list[int] = []
        normalized: list[tuple[str, str]] = []
        raw: list[tuple[str, str]] = []
        for place, (line, raw_english, raw_persian, rule) in enumerate(pairs, start=1):
            if rule is None:
                english = self._normalizer.source(raw_english)
                persian = self._normalizer.target(raw_persian)
                rule = self._broken_rule(english, persian)
                if rule is None or (rule != EMPTY and not is_filtered):
                    lines.append(line)
                    normalized.append((english, persian))
                    raw.append((raw_english, raw_persian))
                    continue
            report.drop(rule, line, raw_english, raw_persian)
            if not is_filtered:
                report.left_out.append(place)

        # 2. Fold the remaining pairs, so that their repetitions can be found.
        folded = [(fold(english), fold(persian)) for english, persian in normalized]
        has_near_duplicates = self._config.filters.near_duplicates is not None
        folded_pairs = ["|".join(sides) for sides in folded] if has_near_duplicates else []

        return CleanChunk(
            number=number,
            report=report,
            texts=(*_as_lines(normalized), *_as_lines(raw)),
            lines=np.array(lines, np.int64),
            keys=pair_keys(folded),
            folded=folded_pairs,
            bands=signatures(folded_pairs),
        )


def _as_lines(pairs: Sequence[tuple[str, str]]) -> tuple[bytes, bytes]:
    """Return both sides of `pairs` as UTF-8, each text with a line break at its end."""
    english = "".join([f"{text}\n" for text, _ in pairs])
    persian = "".join([f"{text}\n" for _, text in pairs])
    return english.encode(), persian.encode()


def _joined(chunks: Iterable[CleanChunk], report: SourceReport, folder: Path, index: NearDuplicateIndex) -> Candidates:
    """Join the chunks of a source; write its texts to `folder`, and folded texts and signatures to `index`."""
    folder.mkdir()
    lines: list[Numbers] = []
    keys: list[Keys] = []
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context((folder / name).open("wb")) for name in (*NORMALIZED, *RAW)]
        for chunk in chunks:
            for file, text in zip(files, chunk.texts, strict=True):
                file.write(text)
            index.add(chunk.folded, chunk.bands)
            report.add(chunk.report)
            lines.append(chunk.lines)
            keys.append(chunk.keys)
    return Candidates(report=report, folder=folder, lines=np.concatenate(lines), keys=np.concatenate(keys))
