"""Prepare corpora: clean and split them without leaks, and store the text under a fingerprint of all inputs.

1. read and clean      all pairs, in worker processes; their texts go to files (cleaning.py)
2. find duplicates     by keys in memory and signatures on disk (duplicates.py, near_duplicates.py)
3. select and split    each pair gets a split, or the rule that drops it (selection.py, split.py)
4. count               pairs by source, rule and split, with examples (preparation_counts.py)
5. write               the selected lines of each source are copied to their splits
"""

import contextlib
import itertools
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from translator.config import CorpusConfig, SourceConfig
from translator.corpus.fingerprint import PREPARE_VERSION, corpus_fingerprint
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.normalizer.rules import NormalizerRules
from translator.corpus.preparation_counts import EXAMPLES, CorpusReport, Example, SourceReport, shortened
from translator.corpus.prepared_corpus import SIDES, PreparedCorpus, Side
from translator.corpus.selecting.cleaning import NORMALIZED, RAW, CleanSource, clean_sources
from translator.corpus.selecting.duplicates import Mask
from translator.corpus.selecting.near_duplicates import NearDuplicateIndex
from translator.corpus.selecting.selection import select_pairs
from translator.corpus.selecting.split import FATES, SPLITS, TRAIN, Fates
from translator.corpus.sources import source_files
from translator.corpus.tags import tagged_lines, tags_of_sources
from translator.errors import CorpusError
from translator.run.files import new_folder, prepared_folder, restore_folders, storage_errors, write_json
from translator.run.logging import LOGGER
from translator.run.workers import processes_for

_REPORT: Final = "report.json"


def prepare_corpus(
    config: CorpusConfig,
    test_sets: Sequence[SourceConfig] = (),
    rules: NormalizerRules | None = None,
) -> PreparedCorpus:
    """Clean and split the sources, or reuse the result of an earlier call with the same files and settings.

    No pair of the training split shares its folded source or target with validation, test or `test_sets`. No pair of
    the validation split shares one with test or `test_sets`. The text of `test_sets` is used for nothing else.

    Args:
        test_sets: additional test sets, with `use: test`.
        rules: those of a trained model's normalizer; None: the current ones.

    Raises:
        CorpusError: a source cannot be read (see `read_pairs`), or too few pairs remain.
        StorageError: the prepared data cannot be written.
    """
    # The text of an earlier call has the same fingerprint.
    rules = Normalizer(config.normalization, rules=rules).rules
    fingerprint = corpus_fingerprint(config, test_sets, rules)
    directory = prepared_folder(config.prepared_directory, "corpus", fingerprint)
    restore_folders(directory.parent)  # a killed preparation, of any settings, may have left gigabytes
    report = None
    file = directory / _REPORT
    # A damaged report is made again, with its text.
    with storage_errors(file, "read"), contextlib.suppress(FileNotFoundError, ValueError):
        report = CorpusReport.from_json(file.read_bytes())
    if report is None:
        with new_folder(directory) as folder:
            report = _prepare(config, test_sets, rules, folder, fingerprint)
            write_json(folder / _REPORT, report.to_json())
    if warning := report.split_warning():
        LOGGER.warning("%s", warning)
    return PreparedCorpus(directory, fingerprint, report, config.languages)


def _prepare(
    config: CorpusConfig,
    test_sets: Sequence[SourceConfig],
    rules: NormalizerRules,
    folder: Path,
    fingerprint: str,
) -> CorpusReport:
    """Write the prepared text to `folder`."""
    tags = tags_of_sources(config.sources)
    every_source = config.model_copy(update={"sources": (*config.sources, *test_sets)})
    spool = folder / "candidates"
    spool.mkdir()
    with NearDuplicateIndex(spool) as index:
        # 1. Read and clean.
        bytes_of_sources = 0
        for source in every_source.sources:
            bytes_of_sources += sum(file.stat().st_size for file in source_files(source))
        processes = processes_for(config.workers, bytes_of_sources)
        texts = clean_sources(every_source, rules, spool, index, processes)

        # 2. and 3. Find duplicates and near-duplicates, select and split.
        clean_fates = [text.fates for text in texts]
        keys = [text.keys for text in texts]
        fates = select_pairs(every_source, clean_fates, keys, index.find)

    # 4. and 5. Count and write. The text of additional test sets is only kept out of the splits.
    count = len(config.sources)
    reports = []
    for source, text, source_fates in zip(every_source.sources, texts, fates, strict=True):
        reports.append(_report(source, text, source_fates))
        if len(reports) <= count:
            _write_splits(text, source_fates, folder, source.name, config.languages[0].code, tags.get(source.name))
    shutil.rmtree(spool)
    _refuse_nothing(reports[:count])
    return CorpusReport(
        fingerprint=fingerprint,
        normalizer_version=rules.version,
        prepare_version=PREPARE_VERSION,
        sources=reports[:count],
        test_sets=reports[count:],
    )


def _report(source: SourceConfig, text: CleanSource, fates: Fates) -> SourceReport:
    """Return how many pairs of a source have each fate, with examples of those that are dropped."""
    report = SourceReport(name=source.name, use=source.use, read=len(fates), notes=text.notes)

    # 1. Count the pairs of each split, and those that each rule drops.
    counts = np.bincount(fates, minlength=len(FATES)).tolist()
    for fate, count in zip(FATES, counts, strict=True):
        if fate in SPLITS:
            report.kept[fate] = count
        elif count:
            report.dropped[fate] = count
    is_dropped = fates >= len(SPLITS)
    if source.use == "test":
        report.left_out = (np.flatnonzero(is_dropped) + 1).tolist()

    # 2. Show the first pairs that each rule drops.
    raw_texts = [_chosen_lines(text.folder / name, is_dropped) for name in RAW]
    for code, line, english, persian in zip(fates[is_dropped], text.lines[is_dropped], *raw_texts, strict=True):
        examples = report.examples.setdefault(FATES[code], [])
        if len(examples) < EXAMPLES:
            examples.append(Example(int(line), shortened(english), shortened(persian)))
    return report


def _write_splits(text: CleanSource, fates: Fates, folder: Path, name: str, source_side: Side, tag: str | None) -> None:
    """Write the pairs of a source to `<split>/<name>.en` and `.fa` in `folder`; a split without pairs gets no files.

    Training text is normalized, and gets the `tag` of the source. Validation and test text stays raw: it is normalized
    where it is used, and a score compares with the references as they were read.
    """
    for code, split in enumerate(SPLITS):
        is_chosen = fates == code
        if not is_chosen.any():
            continue
        (folder / split).mkdir(exist_ok=True)
        for side, spooled in zip(SIDES, NORMALIZED if code == TRAIN else RAW, strict=True):
            lines = _chosen_lines(text.folder / spooled, is_chosen)
            if code == TRAIN and side == source_side and tag is not None:
                lines = tagged_lines(lines, tag)
            with (folder / split / f"{name}.{side}").open("wb") as file:
                file.writelines(lines)


def _chosen_lines(path: Path, is_chosen: Mask) -> Iterator[bytes]:
    """Yield the lines of a file that `is_chosen` (N,) marks, each with its line break; memory stays flat."""
    with path.open("rb", buffering=1 << 20) as lines:
        yield from itertools.compress(lines, is_chosen.tobytes())  # one byte, 0 or 1, per line


def _refuse_nothing(reports: Sequence[SourceReport]) -> None:
    """Raise CorpusError if no pair of a source remains, or no pair for training."""
    summaries = []
    for report in reports:
        counts = [*report.dropped.items(), *report.kept.items()]
        summary = ", ".join(f"{rule_or_split} {count:,}" for rule_or_split, count in counts if count)
        summaries.append(f"{report.name}: {summary}")
        if not report.out:
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
    if report.dropped["invalid_utf8"] > half:
        return "convert it to UTF-8; without `invalid_utf8: drop` the message names the encoding it looks like"
    if report.dropped["duplicate"] > half:
        return "it repeats another source; remove one of the two"
    if sum(count for rule, count in report.dropped.items() if rule.endswith("_held_out")) > half:
        return "it repeats held-out text; remove the source or the test set"
    return "check the text, or loosen corpus.filters"
