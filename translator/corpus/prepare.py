"""Prepare corpora: clean and split them without leaks, and store the text under a fingerprint of all inputs.

First pass: worker processes normalize, filter and fold the pairs of all sources, chunk by chunk; the texts go to files,
the keys stay in memory. Second pass: the selected pairs of each source are copied to their splits and counted.
"""

import contextlib
import itertools
import shutil
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

import ftfy
import numpy as np

from translator.config import CorpusConfig, FilterConfig, NormalizationConfig, SourceConfig
from translator.config.paths import present_path
from translator.config.resuming import fingerprint_of
from translator.corpus.duplicates import Hashes, Keys, Mask, Numbers, pair_keys
from translator.corpus.file_hashes import hashes_of_files, refuse_changed
from translator.corpus.filters import EMPTY, PairFilter
from translator.corpus.folding import fold
from translator.corpus.lines import Pair
from translator.corpus.near_duplicates import NearDuplicateIndex, signatures
from translator.corpus.normalizer import Normalizer
from translator.corpus.normalizer_rules import NormalizerRules
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.report import (
    NUMBERS_SHOWN,
    RULES,
    CorpusReport,
    Example,
    SourceReport,
    TestSetReport,
    example_places,
)
from translator.corpus.sources import read_pairs, source_files
from translator.corpus.split import SELECTION_RULES, SPLITS, TRAIN, Fates, count_fates, fate_of, select_pairs
from translator.errors import CorpusError
from translator.run.logging import LOGGER, progress_bar, stage
from translator.run.prepared_folder import prepared_folder
from translator.run.storage import storage_errors, write_json
from translator.run.work_folders import new_folder, restore_folders
from translator.run.workers import map_in_order, processes_for, refuse_in_starting_process

PREPARE_VERSION: Final = 3  # raised when the same settings give different text
_REPORT: Final = "report.json"
_PAIRS: Final = 4096  # pairs in a chunk, which also ends at `_CHARACTERS` characters
_CHARACTERS: Final = 1 << 20
_FILES: Final = ("normalized.en", "normalized.fa", "raw.en", "raw.fa")

Examples = dict[str, list[Example]]  # by rule, as `example_places` chooses them
LineNumbers = dict[str, list[int]]  # by rule for lines that cannot be read, the first `NUMBERS_SHOWN` of them


def prepare_corpus(
    config: CorpusConfig, test_sets: Sequence[SourceConfig] = (), rules: NormalizerRules | None = None
) -> PreparedCorpus:
    """Clean and split the sources, or reuse the result of an earlier call with the same files and settings.

    No pair of the training split shares its folded source or target with validation, test or `test_sets`, and no pair
    of the validation split with test or `test_sets`, whose text is used for nothing else. The text is normalized by
    `rules`; None: the current ones.

    Raises:
        CorpusError: a source cannot be read (see `read_pairs`) or changes meanwhile, or too few pairs remain.
        StorageError: the prepared data cannot be written, or the calling script lacks a main guard.
    """
    refuse_in_starting_process()
    with stage("fingerprint"):
        normalizer = Normalizer(config.normalization, rules=rules)
        hashes = [hashes_of_files(source) for source in (*config.sources, *test_sets)]
        fingerprint = _fingerprint(config, test_sets, normalizer.rules, hashes)
    directory = prepared_folder(config.prepared_directory, "corpus", fingerprint)
    report = _finished_report(directory, fingerprint)
    if report is None:
        restore_folders(directory.parent)  # a killed preparation with other settings left gigabytes
        with new_folder(directory) as folder:
            report = _build(config, test_sets, normalizer.rules, hashes, folder, fingerprint)
            write_json(folder / _REPORT, report.to_json())
    if warning := report.split_warning():
        LOGGER.warning("%s", warning)
    test_set_names = [source.name for source in test_sets]
    test_set_hashes = dict(zip(test_set_names, hashes[len(config.sources) :], strict=True))
    return PreparedCorpus(directory, fingerprint, report, test_set_hashes=test_set_hashes)


def corpus_fingerprint(config: CorpusConfig, test_sets: Sequence[SourceConfig], rules: NormalizerRules) -> str:
    """Return SHA-256 in hexadecimal over the bytes of the corpus files (not their paths), settings, rules, versions."""

    hashes = [hashes_of_files(source) for source in (*config.sources, *test_sets)]
    return _fingerprint(config, test_sets, rules, hashes)


def _fingerprint(
    config: CorpusConfig,
    test_sets: Sequence[SourceConfig],
    rules: NormalizerRules,
    hashes: Sequence[tuple[str, ...]],
) -> str:
    """Return the fingerprint of a corpus; `hashes` has those of the files of each source, then of each test set."""
    descriptions = []
    for source, file_hashes in zip((*config.sources, *test_sets), hashes, strict=True):
        # The two sides of a corpus may have the same bytes as two tables in a folder.
        layout = "sides" if source.path is None else "folder" if present_path(source.path).is_dir() else "file"
        settings = source.model_dump(mode="json", exclude={"path", "source_path", "target_path", "obtain", "weight"})
        descriptions.append({**settings, "files": list(file_hashes), "layout": layout})
    count = len(config.sources)
    made_from = {
        "sources": descriptions[:count],
        "test_sets": descriptions[count:],
        **config.model_dump(mode="json", include={"normalization", "filters", "split", "bad_rows"}),
        "normalizer": rules.sha256,
        "versions": [PREPARE_VERSION, ftfy.__version__, unicodedata.unidata_version],
    }
    return fingerprint_of(made_from)


def _finished_report(directory: Path, fingerprint: str) -> CorpusReport | None:
    path = directory / _REPORT
    if not path.exists():
        return None
    try:
        with storage_errors(path, "read"):
            report = CorpusReport.from_json(path.read_bytes())
    except ValueError:
        return None
    if report.fingerprint != fingerprint:
        return None
    if _checksums(directory) != report.checksums:
        LOGGER.warning("the prepared text in %s is damaged; preparing it again", directory)
        return None
    return report


def _checksums(folder: Path) -> dict[str, int]:
    checksums = {}
    for path in sorted(folder.glob("*/*")):
        with storage_errors(path, "read"), path.open("rb") as stream:
            checksum = 0
            while block := stream.read(1 << 20):
                checksum = zlib.crc32(block, checksum)
            checksums[path.relative_to(folder).as_posix()] = checksum
    return checksums


def _build(
    config: CorpusConfig,
    test_sets: Sequence[SourceConfig],
    rules: NormalizerRules,
    hashes: Sequence[tuple[str, ...]],
    folder: Path,
    fingerprint: str,
) -> CorpusReport:
    """Write the prepared text to `folder`; raise CorpusError if a file no longer has its `hashes` after reading."""
    spool = folder / "candidates"
    spool.mkdir()
    size = sum(file.stat().st_size for source in (*config.sources, *test_sets) for file in source_files(source))
    with NearDuplicateIndex(spool) as index:
        with stage("clean"):
            processes = processes_for(config.workers, size)
            candidates = collect_candidates(config, test_sets, rules, spool, index, processes)
            for source, file_hashes in zip((*config.sources, *test_sets), hashes, strict=True):
                refuse_changed(source, file_hashes)
        with stage("select"):
            fates = select_pairs(config, [item.keys for item in candidates], index.find)
    divided = len(config.sources)  # test sets come after them
    with stage("write"):
        made = list(zip(candidates[:divided], fates[:divided], strict=True))
        reports = tuple(_report_source(item, item_fates) for item, item_fates in made)
        _refuse_nothing(reports)
        for item, item_fates in made:
            _write_splits(item, item_fates, folder)
    shutil.rmtree(spool)
    kept_out = tuple(TestSetReport(item.source.name, len(item.lines)) for item in candidates[divided:])
    return CorpusReport(fingerprint, rules.version, PREPARE_VERSION, reports, kept_out, _checksums(folder))


class Chunk(NamedTuple):
    """Consecutive raw pairs of a source, with the number of the source among all sources and test sets."""

    number: int
    filtered: bool  # false for a test set, which loses only empty and unreadable pairs
    pairs: list[tuple[int, str, str, str | None]]  # the fields of each `Pair`, as tuples that pickle faster


def chunks_of(pairs: Iterable[Pair], number: int, filtered: bool) -> Iterator[Chunk]:
    """Yield `pairs` in one or more chunks; their borders depend only on the pairs."""
    chunk = Chunk(number, filtered, [])
    characters = 0
    for pair in pairs:
        if len(chunk.pairs) == _PAIRS or characters >= _CHARACTERS:
            yield chunk
            chunk, characters = Chunk(number, filtered, []), 0
        chunk.pairs.append((pair.line, pair.source, pair.target, pair.defect))
        characters += len(pair.source) + len(pair.target)
    yield chunk


class CleanChunk(NamedTuple):
    """The N pairs of a chunk that passed the filters, with their line numbers (N,)."""

    number: int
    read: int
    dropped: Counter[str]
    examples: Examples
    unread: LineNumbers
    left_out: Numbers  # places of all dropped pairs in the chunk, from 1, if it is not filtered
    texts: tuple[bytes, ...]  # the content of `_FILES`, a line for each pair
    lines: Numbers
    keys: Keys
    folded: list[str]  # both folded sides of each pair as one text; empty if near-duplicates may stay
    bands: Hashes


class Cleaner:
    """Applies the normalizer and the filters of a configuration to chunks, in a worker process."""

    def __init__(self, normalization: NormalizationConfig, rules: NormalizerRules, filters: FilterConfig) -> None:
        self._normalizer = Normalizer(normalization, rules=rules)
        self._broken_rule = PairFilter(filters).broken_rule
        self._near_duplicates = filters.near_duplicates is not None

    def __call__(self, chunk: Chunk) -> CleanChunk:
        """Return the pairs of `chunk` that pass the filters, normalized."""
        dropped: dict[str, list[Example]] = {}
        unread: LineNumbers = {}
        kept: list[tuple[int, str, str, str, str]] = []
        left_out: list[int] = []
        for place, (line, raw_source, raw_target, rule) in enumerate(chunk.pairs, start=1):
            if rule is None:
                source, target = self._normalizer.source(raw_source), self._normalizer.target(raw_target)
                rule = self._broken_rule(source, target)
                if rule is None or (rule != EMPTY and not chunk.filtered):
                    kept.append((line, source, target, raw_source, raw_target))
                    continue
            elif len(unread.setdefault(rule, [])) < NUMBERS_SHOWN:
                unread[rule].append(line)
            dropped.setdefault(rule, []).append(Example.of(line, raw_source, raw_target))
            if not chunk.filtered:
                left_out.append(place)
        lines, *texts = zip(*kept, strict=True) if kept else ((), (), (), (), ())
        folded = list(zip(*(map(fold, side) for side in texts[:2]), strict=True))
        whole = [f"{source}|{target}" for source, target in folded] if self._near_duplicates else []
        return CleanChunk(
            number=chunk.number,
            read=len(chunk.pairs),
            dropped=Counter({rule: len(pairs) for rule, pairs in dropped.items()}),
            examples={rule: _chosen(pairs) for rule, pairs in dropped.items()},
            unread=unread,
            left_out=np.array(left_out, np.int64),
            texts=tuple(b"".join([f"{text}\n".encode() for text in side]) for side in texts),
            lines=np.array(lines, np.int64),
            keys=pair_keys(folded),
            folded=whole,
            bands=signatures(whole),
        )


def _chosen(examples: Sequence[Example]) -> list[Example]:
    return [examples[place] for place in example_places([example.line for example in examples])]


class Candidates(NamedTuple):
    """The pairs of one source that passed the filters: text files (`_FILES`), keys (N, 2), line numbers (N,)."""

    source: SourceConfig
    files: tuple[Path, ...]
    read: int
    dropped: Counter[str]
    examples: Examples
    unread: LineNumbers
    notes: Sequence[str]  # on what else was not read
    left_out: Numbers  # places of all dropped pairs among those read, from 1, if the source is not filtered
    keys: Keys
    lines: Numbers


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
        rules: of the normalizer; the configuration chooses among them.
        folder: an empty folder for the texts.
        index: gets both folded sides of each pair, in the order of the result, unless near-duplicates may stay.
    """
    sources = [*config.sources, *test_sets]
    filtered = [source.use in ("auto", "train") for source in config.sources] + [False] * len(test_sets)
    notes: list[list[str]] = [[] for _ in sources]

    def chunks() -> Iterator[Chunk]:
        for number, source in enumerate(sources):
            with contextlib.closing(read_pairs(source, config.bad_rows, notes[number].append)) as pairs:
                shown = progress_bar(pairs, description=f"cleaning {source.name}", total=source.max_pairs, unit="pairs")
                yield from chunks_of(shown, number, filtered[number])

    cleaner = partial(Cleaner, config.normalization, rules, config.filters)
    with contextlib.closing(map_in_order(cleaner, chunks(), processes)) as cleaned:
        return [
            _set_aside(sources[number], source_chunks, folder / str(number), index, notes[number])
            for number, source_chunks in itertools.groupby(cleaned, attrgetter("number"))
        ]


def _set_aside(
    source: SourceConfig, chunks: Iterable[CleanChunk], folder: Path, index: NearDuplicateIndex, notes: Sequence[str]
) -> Candidates:
    folder.mkdir(exist_ok=True)
    paths = tuple(folder / name for name in _FILES)
    read, dropped, examples = 0, Counter[str](), Examples()
    unread: LineNumbers = {}
    left_out: list[Numbers] = []
    keys: list[Keys] = []
    lines: list[Numbers] = []
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in paths]
        for chunk in chunks:
            left_out.append(read + chunk.left_out)
            read += chunk.read
            dropped += chunk.dropped
            for rule, found in chunk.examples.items():
                examples[rule] = _chosen([*examples.get(rule, ()), *found])
            for rule, numbers in chunk.unread.items():
                unread[rule] = [*unread.get(rule, ()), *numbers][:NUMBERS_SHOWN]
            for file, content in zip(files, chunk.texts, strict=True):
                file.write(content)
            keys.append(chunk.keys)
            lines.append(chunk.lines)
            index.add(chunk.folded, chunk.bands)
    return Candidates(
        source=source,
        files=paths,
        read=read,
        dropped=dropped,
        examples=examples,
        unread=unread,
        notes=notes,
        left_out=np.concatenate(left_out),
        keys=np.concatenate(keys),
        lines=np.concatenate(lines),
    )


def _report_source(item: Candidates, fates: Fates) -> SourceReport:
    dropped, kept = count_fates(fates)
    examples = dict(item.examples)
    for rule in SELECTION_RULES:
        if dropped[rule]:
            numbers = np.flatnonzero(fates == fate_of(rule))
            chosen = np.zeros(len(fates), np.bool_)
            chosen[numbers[example_places(item.lines[numbers].tolist())]] = True
            texts = zip(*(_chosen_lines(path, chosen) for path in item.files[2:]), strict=True)
            examples[rule] = [
                Example.of(line, *(text[:-1].decode("utf-8") for text in pair))
                for line, pair in zip(item.lines[chosen].tolist(), texts, strict=True)
            ]
    return SourceReport(
        name=item.source.name,
        use=item.source.use,
        read=item.read,
        dropped={rule: item.dropped[rule] + dropped.get(rule, 0) for rule in RULES},
        kept=kept,
        examples={rule: tuple(examples[rule]) for rule in sorted(examples)},
        left_out=tuple(item.left_out.tolist()) if item.source.use == "test" else (),
        unread={rule: tuple(item.unread[rule]) for rule in sorted(item.unread)},
        notes=tuple(item.notes),
    )


def _write_splits(item: Candidates, fates: Fates, folder: Path) -> None:
    """Write `<split>/<name>.en` and `.fa`: normalized for training, raw for the others."""
    for code, split in enumerate(SPLITS):
        chosen = fates == code
        if chosen.any():
            (folder / split).mkdir(exist_ok=True)
            for side, path in zip(("en", "fa"), item.files[:2] if code == TRAIN else item.files[2:], strict=True):
                with (folder / split / f"{item.source.name}.{side}").open("wb") as output:
                    output.writelines(_chosen_lines(path, chosen))


def _chosen_lines(path: Path, chosen: Mask) -> Iterator[bytes]:
    with path.open("rb", buffering=1 << 20) as lines:
        yield from itertools.compress(lines, chosen.tolist())


def _refuse_nothing(reports: Sequence[SourceReport]) -> None:
    """Raise CorpusError if no pair of a source is left, or no pair for training."""
    summaries = []
    for report in reports:
        counts = {**report.dropped, **report.kept}
        shown = ", ".join(f"{what} {count:,}" for what, count in counts.items() if count)
        summaries.append(f"{report.name}: {shown}")
        if not any(report.kept.values()):
            advice = "check the text, or loosen corpus.filters"
            if report.dropped["invalid_utf8"] * 2 > report.read:
                advice = (
                    "convert it to UTF-8; without `invalid_utf8: drop` the message names the encoding it looks like"
                )
            elif report.dropped["duplicate"] * 2 > report.read:
                advice = "it repeats another source; remove one of the two"
            elif sum(report.dropped[rule] for rule in RULES if rule.endswith("_held_out")) * 2 > report.read:
                advice = "it repeats held-out text; remove the source or the test set"
            problem = f"all {report.read:,} pairs were dropped ({shown})"
            raise CorpusError(f"corpus source `{report.name}`: {problem}; {advice}")
    if not any(report.kept["train"] for report in reports):
        raise CorpusError(
            f"no pair is left for training ({'; '.join(summaries)}); hold out fewer pairs (corpus.split.validation, "
            "corpus.split.test), or add a source that shares no sentences with the held-out text"
        )
