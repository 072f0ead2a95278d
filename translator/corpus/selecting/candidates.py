"""The candidates of a preparation: pairs that passed the filters, their texts in files and their keys in memory."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from translator.config import CorpusConfig, SourceConfig
from translator.corpus.normalizer.rules import NormalizerRules
from translator.corpus.preparation_counts import NUMBERS_SHOWN, chosen_examples
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.selecting.cleaning import Chunk, CleanChunk, Cleaner, Examples, LineNumbers, chunks_of
from translator.corpus.selecting.duplicates import Keys, Numbers
from translator.corpus.selecting.near_duplicates import NearDuplicateIndex
from translator.run.logging import progress_bar
from translator.run.workers import map_in_order


class SideFiles(NamedTuple):
    """The files of the two sides of some pairs, with a line for each pair."""

    english: Path
    persian: Path


class Candidates(NamedTuple):
    """The N pairs of one source that passed the filters."""

    source: SourceConfig
    normalized: SideFiles  # what training reads
    raw: SideFiles  # as read, for held-out text and examples
    read: int  # pairs of the source, dropped ones included
    dropped: Counter[str]  # pairs by the rule of the filters that they break
    examples: Examples  # of the dropped pairs
    unread: LineNumbers
    notes: Sequence[str]  # on what else was not read
    left_out: Numbers  # places of all dropped pairs among those read, from 1, if the source is not filtered
    keys: Keys  # (N, 2)
    lines: Numbers  # (N,) numbers of their lines in the source


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
    is_filtered = [source.use in ("auto", "train") for source in config.sources] + [False] * len(test_sets)
    notes: list[list[str]] = [[] for _ in sources]

    # A generator, so that a source is read only as fast as the workers clean it.
    def chunks() -> Iterator[Chunk]:
        for number, source in enumerate(sources):
            with contextlib.closing(read_pairs(source, notes[number].append)) as pairs:
                shown = progress_bar(pairs, description=f"cleaning {source.name}", total=source.max_pairs, unit="pairs")
                yield from chunks_of(shown, number, is_filtered[number])

    # The chunks come back in the order of reading, so those of a source stand together.
    cleaner = partial(Cleaner, config.normalization, rules, config.filters)
    candidates: list[Candidates] = []
    with contextlib.closing(map_in_order(cleaner, chunks(), processes)) as clean_chunks:
        for number, source_chunks in itertools.groupby(clean_chunks, attrgetter("number")):
            candidates.append(
                _candidates_of(sources[number], source_chunks, folder / str(number), index, notes[number])
            )
    return candidates


def _candidates_of(
    source: SourceConfig, chunks: Iterable[CleanChunk], folder: Path, index: NearDuplicateIndex, notes: Sequence[str]
) -> Candidates:
    """Join all chunks of `source`; write the texts to `folder`, and folded texts and signatures to `index`.

    Args:
        chunks: all chunks of the source, in the order of reading.
        folder: gets four files of texts: both sides, normalized and raw.
        index: gets the folded texts and signatures, unless it is not needed.
        notes: what reading left out, for the report.
    """
    folder.mkdir(exist_ok=True)
    normalized = SideFiles(folder / "normalized.en", folder / "normalized.fa")
    raw = SideFiles(folder / "raw.en", folder / "raw.fa")
    read = 0
    dropped = Counter[str]()
    examples = Examples()
    unread: LineNumbers = {}
    left_out: list[Numbers] = []
    keys: list[Keys] = []
    lines: list[Numbers] = []
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in (*normalized, *raw)]
        for chunk in chunks:
            # What goes to files: memory would not hold the texts of a large corpus.
            for file, content in zip(files, (*chunk.normalized, *chunk.raw), strict=True):
                file.write(content)
            index.add(chunk.folded, chunk.bands)

            # What stays in memory: places among the pairs of the source, keys, and counts.
            left_out.append(read + chunk.left_out)
            keys.append(chunk.keys)
            lines.append(chunk.lines)
            read += chunk.read
            dropped += chunk.dropped
            for rule, chunk_examples in chunk.examples.items():
                examples[rule] = chosen_examples([*examples.get(rule, ()), *chunk_examples])
            for rule, numbers in chunk.unread.items():
                unread[rule] = [*unread.get(rule, ()), *numbers][:NUMBERS_SHOWN]
    return Candidates(
        source=source,
        normalized=normalized,
        raw=raw,
        read=read,
        dropped=dropped,
        examples=examples,
        unread=unread,
        notes=notes,
        left_out=np.concatenate(left_out),
        keys=np.concatenate(keys),
        lines=np.concatenate(lines),
    )
