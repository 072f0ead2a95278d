"""Prepare corpora: clean and split them without leaks, and store the text under a fingerprint of all inputs.

1. read and clean      all pairs, in worker processes (cleaning.py); their texts go to files (candidates.py)
2. find duplicates     by keys and signatures, which stay in memory (duplicates.py, near_duplicates.py)
3. select and split    each pair gets a split, or the rule that drops it (split.py)
4. write               the selected lines of each source are copied to their splits
5. report              pairs by source, rule and split, with examples (preparation_counts.py)
"""

import contextlib
import itertools
import shutil
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

import numpy as np

from translator.config import CorpusConfig, SourceConfig
from translator.corpus.file_hashes import FileHashes, hashes_of_files, refuse_changed
from translator.corpus.fingerprint import PREPARE_VERSION, corpus_fingerprint
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.normalizer.rules import NormalizerRules
from translator.corpus.preparation_counts import (
    RULES,
    CorpusReport,
    Example,
    SourceReport,
    TestSetReport,
    example_places,
)
from translator.corpus.prepared_corpus import SIDES, PreparedCorpus
from translator.corpus.selecting.candidates import Candidates, collect_candidates
from translator.corpus.selecting.cleaning import Examples
from translator.corpus.selecting.duplicates import Mask
from translator.corpus.selecting.near_duplicates import NearDuplicateIndex
from translator.corpus.selecting.split import (
    SELECTION_RULES,
    SPLITS,
    TEST,
    TRAIN,
    VALIDATION,
    Fates,
    count_fates,
    fate_of,
    rule_of,
    select_pairs,
)
from translator.corpus.sources import source_files
from translator.errors import CorpusError
from translator.run.files import new_folder, prepared_folder, restore_folders, storage_errors, write_json
from translator.run.logging import LOGGER, stage
from translator.run.workers import processes_for

_REPORT: Final = "report.json"


def prepare_corpus(
    config: CorpusConfig,
    test_sets: Sequence[SourceConfig] = (),
    rules: NormalizerRules | None = None,
    verified: FileHashes | None = None,
) -> PreparedCorpus:
    """Clean and split the sources, or reuse the result of an earlier call with the same files and settings.

    No pair of the training split shares its folded source or target with validation, test or `test_sets`. No pair of
    the validation split shares one with test or `test_sets`. The text of `test_sets` is used for nothing else.

    Args:
        test_sets: additional test sets.
        rules: those of a trained model's normalizer; None: the current ones.
        verified: `file_hashes` of the result of another process, which has just prepared the same text on this machine;
            then neither the files nor the prepared text are hashed once more.

    Raises:
        CorpusError: a source cannot be read (see `read_pairs`) or changes meanwhile, or too few pairs remain.
        StorageError: the prepared data cannot be written.
    """
    # The text of an earlier call has the same fingerprint.
    with stage("fingerprint"):
        rules = Normalizer(config.normalization, rules=rules).rules
        hashes = verified or tuple(hashes_of_files(source) for source in (*config.sources, *test_sets))
        fingerprint = corpus_fingerprint(config, test_sets, rules, hashes)
    directory = prepared_folder(config.prepared_directory, "corpus", fingerprint)
    restore_folders(directory.parent)  # a killed preparation, of any settings, may have left gigabytes
    report = _finished_report(directory, fingerprint, verify=verified is None)
    if report is None:
        with new_folder(directory) as folder:
            report = _prepare(config, test_sets, rules, hashes, folder, fingerprint)
            write_json(folder / _REPORT, report.to_json())
    if warning := report.split_warning():
        LOGGER.warning("%s", warning)
    test_set_names = [source.name for source in test_sets]
    test_set_hashes = dict(zip(test_set_names, hashes[len(config.sources) :], strict=True))
    return PreparedCorpus(directory, fingerprint, report, file_hashes=hashes, test_set_hashes=test_set_hashes)


def _finished_report(directory: Path, fingerprint: str, verify: bool) -> CorpusReport | None:
    """Return the report on the prepared text in `directory`; None if it is missing, damaged, or of other inputs.

    Without `verify`, damage to the text itself is not looked for.
    """
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
    if verify and _checksums(directory) != report.checksums:
        LOGGER.warning("the prepared text in %s is damaged; preparing it again", directory)
        return None
    return report


def _checksums(folder: Path) -> dict[str, int]:
    """Return the CRC-32 of each prepared text, by its path in `folder`."""
    checksums = {}
    for path in sorted(folder.glob("*/*")):
        with storage_errors(path, "read"), path.open("rb") as stream:
            checksum = 0
            while block := stream.read(1 << 20):
                checksum = zlib.crc32(block, checksum)
            checksums[path.relative_to(folder).as_posix()] = checksum
    return checksums


class _Selection(NamedTuple):
    """The candidates of one source, and what becomes of each."""

    candidates: Candidates
    fates: Fates  # (N,)


def _prepare(
    config: CorpusConfig,
    test_sets: Sequence[SourceConfig],
    rules: NormalizerRules,
    hashes: FileHashes,
    folder: Path,
    fingerprint: str,
) -> CorpusReport:
    """Write the prepared text to `folder`; raise CorpusError if a file no longer has its `hashes` after reading."""
    sources = [*config.sources, *test_sets]
    spool = folder / "candidates"
    spool.mkdir()
    with NearDuplicateIndex(spool) as index:
        # 1. Read and clean. What was read must be what the fingerprint stands for.
        with stage("clean"):
            bytes_of_sources = 0
            for source in sources:
                bytes_of_sources += sum(file.stat().st_size for file in source_files(source))
            processes = processes_for(config.workers, bytes_of_sources)
            candidates = collect_candidates(config, test_sets, rules, spool, index, processes)
            for source, file_hashes in zip(sources, hashes, strict=True):
                refuse_changed(source, file_hashes)

        # 2. and 3. Find duplicates and near-duplicates, select and split.
        with stage("select"):
            fates = select_pairs(config, [source_candidates.keys for source_candidates in candidates], index.find)

    # 4. Write the splits of the sources. The text of additional test sets is only kept out of them.
    count = len(config.sources)
    selections = [_Selection(*selection) for selection in zip(candidates[:count], fates[:count], strict=True)]
    with stage("write"):
        reports = tuple(_source_report(selection) for selection in selections)
        _refuse_nothing(reports)
        for selection in selections:
            _write_splits(selection, folder)
    shutil.rmtree(spool)

    # 5. Report.
    test_set_reports = []
    for test_set in candidates[count:]:
        test_set_reports.append(TestSetReport(name=test_set.source.name, pairs=len(test_set.lines)))
    return CorpusReport(
        fingerprint=fingerprint,
        normalizer_version=rules.version,
        prepare_version=PREPARE_VERSION,
        sources=reports,
        test_sets=tuple(test_set_reports),
        checksums=_checksums(folder),
    )


def _source_report(selection: _Selection) -> SourceReport:
    """Return the counts of a source, with examples of what was dropped.

    A pair counts once: under the rule of the filters that drops it, under the rule of the selection that drops it (as a
    duplicate, or because its text is held out), or under its split.
    """
    candidates = selection.candidates
    dropped_by_selection, in_split = count_fates(selection.fates)
    examples = {**candidates.examples, **_selection_examples(selection)}
    return SourceReport(
        name=candidates.source.name,
        use=candidates.source.use,
        read=candidates.read,
        dropped={rule: candidates.dropped[rule] + dropped_by_selection.get(rule, 0) for rule in RULES},
        kept=in_split,
        examples={rule: tuple(examples[rule]) for rule in sorted(examples)},
        left_out=tuple(candidates.left_out.tolist()) if candidates.source.use == "test" else (),
        unread={rule: tuple(candidates.unread[rule]) for rule in sorted(candidates.unread)},
        notes=tuple(candidates.notes),
    )


def _selection_examples(selection: _Selection) -> Examples:
    """Return examples, as read, of the pairs that each rule of the selection drops."""
    candidates, fates = selection
    is_example = np.zeros(len(fates), np.bool_)
    for rule in SELECTION_RULES:
        numbers = np.flatnonzero(fates == fate_of(rule))
        places = example_places(candidates.lines[numbers].tolist())
        is_example[numbers[places]] = True

    # The examples of all rules in one pass over the texts.
    examples: Examples = {}
    example_lines = candidates.lines[is_example].tolist()
    english_texts = _chosen_lines(candidates.raw.english, is_example)
    persian_texts = _chosen_lines(candidates.raw.persian, is_example)
    for fate, line, english, persian in zip(
        fates[is_example].tolist(), example_lines, english_texts, persian_texts, strict=True
    ):
        example = Example.of(line, english[:-1].decode("utf-8"), persian[:-1].decode("utf-8"))
        examples.setdefault(rule_of(fate), []).append(example)
    return examples


def _write_splits(selection: _Selection, folder: Path) -> None:
    """Write the pairs of a source to `<split>/<name>.en` and `.fa` in `folder`; a split without pairs gets no files.

    Training text is normalized. Validation and test text stays raw: it is normalized where it is used, and a score
    compares with the references as they were read.
    """
    candidates, fates = selection
    name = candidates.source.name
    for split in SPLITS:
        if (fates == SPLITS.index(split)).any():
            (folder / split).mkdir(exist_ok=True)

    is_trained_on = fates == TRAIN
    if is_trained_on.any():
        for side, path in zip(SIDES, candidates.normalized, strict=True):
            with (folder / "train" / f"{name}.{side}").open("wb") as output:
                output.writelines(_chosen_lines(path, is_trained_on))

    # Validation and test in one pass over the raw text.
    is_held_out = np.isin(fates, (VALIDATION, TEST))
    held_out_codes = fates[is_held_out].tolist()
    for side, path in zip(SIDES, candidates.raw, strict=True):
        with contextlib.ExitStack() as stack:
            outputs: dict[int, IO[bytes]] = {}
            for code in sorted(set(held_out_codes)):
                outputs[code] = stack.enter_context((folder / SPLITS[code] / f"{name}.{side}").open("wb"))
            for code, line in zip(held_out_codes, _chosen_lines(path, is_held_out), strict=True):
                outputs[code].write(line)


def _chosen_lines(path: Path, is_chosen: Mask) -> Iterator[bytes]:
    """Yield the lines of a file that `is_chosen` (N,) marks, each with its line break; memory stays flat."""
    with path.open("rb", buffering=1 << 20) as lines:
        yield from itertools.compress(lines, is_chosen.tobytes())  # one byte, 0 or 1, per line


def _refuse_nothing(reports: Sequence[SourceReport]) -> None:
    """Raise CorpusError if no pair of a source remains, or no pair for training."""
    summaries = []
    for report in reports:
        counts = {**report.dropped, **report.kept}
        summary = ", ".join(f"{rule_or_split} {count:,}" for rule_or_split, count in counts.items() if count)
        summaries.append(f"{report.name}: {summary}")
        if not any(report.kept.values()):
            problem = f"all {report.read:,} pairs were dropped ({summary})"
            advice = "; ".join([_advice_for_an_empty_source(report), *report.notes])  # these name the columns read
            raise CorpusError(f"corpus source `{report.name}`: {problem}; {advice}")
    if not any(report.kept["train"] for report in reports):
        raise CorpusError(
            f"no pair is left for training ({'; '.join(summaries)}); hold out fewer pairs (corpus.split.validation, "
            "corpus.split.test), or add a source that shares no sentences with the held-out text"
        )


def _advice_for_an_empty_source(report: SourceReport) -> str:
    """Return what to do about the rule that dropped more than half of the pairs."""
    half = report.read / 2
    held_out = sum(report.dropped[rule] for rule in RULES if rule.endswith("_held_out"))
    if report.dropped["invalid_utf8"] > half:
        return "convert it to UTF-8; without `invalid_utf8: drop` the message names the encoding it looks like"
    if report.dropped["duplicate"] > half:
        return "it repeats another source; remove one of the two"
    if held_out > half:
        return "it repeats held-out text; remove the source or the test set"
    return "check the text, or loosen corpus.filters"
