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

from translator.config import CorpusConfig, SourceConfig
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
"""Consecutive pairs, and the number of their source among all sources and test sets."""


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
    config: CorpusConfig,
    test_sets: Sequence[SourceConfig],
    rules: NormalizerRules,
    folder: Path,
    index: NearDuplicateIndex,
    processes: int,
) -> list[Candidates]:
    """Read all sources once; write the pairs that pass the filters below `folder`; memory: 32 bytes per pair.

    Sources for validation or testing, and additional test sets, lose only empty and unreadable pairs, so that filters
    do not change the meaning of a score. Raises CorpusError if a source cannot be read.

    Args:
        test_sets: additional test sets, which follow the sources in the result.
        rules: all rules of the normalizer; `config` chooses among them.
        folder: an empty folder for the texts.
        index: gets both folded sides of each pair, in the order of the result, unless near-duplicates may stay.
        processes: number of processes that clean text.
    """
    sources = [*config.sources, *test_sets]
    notes: list[list[str]] = [[] for _ in sources]

    # A generator, so that a source is read only as fast as the workers clean it.
    def chunks() -> Iterator[Chunk]:
        for number, source in enumerate(sources):
            with contextlib.closing(read_pairs(source, notes[number].append)) as pairs:
                shown = progress_bar(pairs, description=f"cleaning {source.name}", total=source.max_pairs, unit="pairs")
                for chunk in chunks_of(shown):
                    yield number, chunk

    # The chunks come back in the order of reading, so those of a source stand together.
    candidates: list[Candidates] = []
    cleaner = partial(Cleaner, config, test_sets, rules)
    with contextlib.closing(map_in_order(cleaner, chunks(), processes)) as clean_chunks:
        for number, source_chunks in itertools.groupby(clean_chunks, attrgetter("number")):
            joined = _joined(source_chunks, folder / str(number), index)
            joined.report.notes += notes[number]
            candidates.append(joined)
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

    def __init__(self, config: CorpusConfig, test_sets: Sequence[SourceConfig], rules: NormalizerRules) -> None:
        self._normalizer = Normalizer(config.normalization, rules=rules)
        self._broken_rule = PairFilter(config.filters).broken_rule
        self._near_duplicates = config.filters.near_duplicates is not None
        self._sources = [*config.sources, *test_sets]
        self._is_filtered = [source.use in ("auto", "train") for source in config.sources] + [False] * len(test_sets)

    def __call__(self, chunk: Chunk) -> CleanChunk:
        """Return the pairs of `chunk` that pass the filters, normalized."""
        # 1. Normalize and filter each pair.
        number, pairs = chunk
        is_filtered = self._is_filtered[number]
        report = SourceReport(name=self._sources[number].name, use=self._sources[number].use, read=len(pairs))
        lines: list[int] = []
        english_texts: list[str] = []
        persian_texts: list[str] = []
        raw_english_texts: list[str] = []
        raw_persian_texts: list[str] = []
        for place, (line, raw_english, raw_persian, rule) in enumerate(pairs, start=1):
            if rule is None:
                english = self._normalizer.source(raw_english)
                persian = self._normalizer.target(raw_persian)
                rule = self._broken_rule(english, persian)
                if rule is None or (rule != EMPTY and not is_filtered):
                    lines.append(line)
                    english_texts.append(english)
                    persian_texts.append(persian)
                    raw_english_texts.append(raw_english)
                    raw_persian_texts.append(raw_persian)
                    continue
            report.drop(rule, line, raw_english, raw_persian)
            if not is_filtered:
                report.left_out.append(place)

        # 2. Fold the remaining pairs, so that their repetitions can be found.
        folded = list(zip(map(fold, english_texts), map(fold, persian_texts), strict=True))
        folded_pairs: list[str] = []
        if self._near_duplicates:
            folded_pairs = [f"{english}|{persian}" for english, persian in folded]

        return CleanChunk(
            number=number,
            report=report,
            texts=tuple(map(_as_lines, (english_texts, persian_texts, raw_english_texts, raw_persian_texts))),
            lines=np.array(lines, np.int64),
            keys=pair_keys(folded),
            folded=folded_pairs,
            bands=signatures(folded_pairs),
        )


def _as_lines(texts: Sequence[str]) -> bytes:
    """Return `texts` as UTF-8, each with a line break at its end."""
    return "".join([f"{text}\n" for text in texts]).encode()


def _joined(chunks: Iterable[CleanChunk], folder: Path, index: NearDuplicateIndex) -> Candidates:
    """Join the chunks of a source; write its texts to `folder`, and folded texts and signatures to `index`."""
    folder.mkdir(exist_ok=True)
    reports: list[SourceReport] = []
    lines: list[Numbers] = []
    keys: list[Keys] = []
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context((folder / name).open("wb")) for name in (*NORMALIZED, *RAW)]
        for chunk in chunks:
            for file, text in zip(files, chunk.texts, strict=True):
                file.write(text)
            index.add(chunk.folded, chunk.bands)
            reports.append(chunk.report)
            lines.append(chunk.lines)
            keys.append(chunk.keys)
    report, *later_reports = reports
    for later_report in later_reports:
        report.add(later_report)
    return Candidates(report=report, folder=folder, lines=np.concatenate(lines), keys=np.concatenate(keys))
