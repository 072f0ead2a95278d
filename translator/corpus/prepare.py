"""Prepare corpora: clean and split them without leaks, and store the text under a fingerprint of all inputs.

1. read and clean      all pairs, in worker processes; their texts go to files (cleaning.py)
2. find duplicates     by keys in memory and signatures on disk (duplicates.py, near_duplicates.py)
3. select and split    each pair gets a split, or the rule that drops it (selection.py, split.py)
4. count               pairs by source, rule and split, with examples (preparation_counts.py)
5. write               the selected lines of each source are copied to their splits
"""

import itertools
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from translator.config import CorpusConfig, SourceConfig
from translator.corpus.fingerprint import PREPARE_VERSION, corpus_fingerprint
from translator.corpus.normalizer.normalizer import CURRENT_RULES
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
    # 1. The folder of this text, by a fingerprint of all that makes it.
    rules = CURRENT_RULES if rules is None else rules
    fingerprint = corpus_fingerprint(config, test_sets, rules)
    directory = prepared_folder(config.prepared_directory, "corpus", fingerprint)
    restore_folders(directory.parent)  # killed preparations, of any settings, may have left gigabytes

    # 2. Reuse the text of an earlier call, if its report can be read. Else make both, text and report.
    report: CorpusReport | None
    file = directory / _REPORT
    with storage_errors(file, "read"):
        try:
            report = CorpusReport.from_json(file.read_bytes())
        except (FileNotFoundError, ValueError):  # there is none, or it is damaged
            report = None
    if report is None:
        with new_folder(directory) as folder:
            report = _prepare(config, test_sets, rules, folder, fingerprint)
            write_json(folder / _REPORT, report.to_json())
    if warning := report.split_warning():
        LOGGER.warning("%s", warning)
    return PreparedCorpus(directory, report, config.languages)


def _prepare(
    config: CorpusConfig,
    test_sets: Sequence[SourceConfig],
    rules: NormalizerRules,
    folder: Path,
    fingerprint: str,
) -> CorpusReport:
    """Write the prepared text to `folder`, which is empty, and return its counts; the steps are those of this file."""
    tags = tags_of_sources(config.sources)  # raises for two equal tags, before the long work
    # The test sets are read and compared like sources, after those of the recipe.
    with_test_sets = config.model_copy(update={"sources": (*config.sources, *test_sets)})
    spool = folder / "candidates"  # for all texts, until it is clear what becomes of them
    spool.mkdir()
    with NearDuplicateIndex(spool) as index:
        # 1. Read and clean.
        bytes_of_sources = 0
        for source in with_test_sets.sources:
            bytes_of_sources += sum(file.stat().st_size for file in source_files(source))
        processes = processes_for(config.workers, bytes_of_sources)
        cleaned_sources = clean_sources(with_test_sets, rules, spool, index, processes)

        # 2. and 3. Find duplicates and near-duplicates, select and split.
        fates_after_cleaning = [cleaned.fates for cleaned in cleaned_sources]
        keys = [cleaned.keys for cleaned in cleaned_sources]
        fates = select_pairs(with_test_sets, fates_after_cleaning, keys, index.find)

    # 4. Count.
    reports = []
    for source, cleaned, source_fates in zip(with_test_sets.sources, cleaned_sources, fates, strict=True):
        reports.append(_report(source, cleaned, source_fates))
    source_count = len(config.sources)
    source_reports, test_set_reports = reports[:source_count], reports[source_count:]
    _refuse_empty_sources(source_reports)

    # 5. Write the splits of the sources. `zip` stops before the test sets, whose text is only kept out of the splits.
    source_side = config.languages[0].code
    for source, cleaned, source_fates in zip(config.sources, cleaned_sources, fates, strict=False):
        _write_splits(cleaned, source_fates, folder, source.name, source_side, tags.get(source.name))
    shutil.rmtree(spool)
    return CorpusReport(
        fingerprint=fingerprint,
        normalizer_version=rules.version,
        prepare_version=PREPARE_VERSION,
        sources=source_reports,
        test_sets=test_set_reports,
    )


def _report(source: SourceConfig, cleaned: CleanSource, fates: Fates) -> SourceReport:
    """Return how many pairs of a source have each fate, with examples of those that are dropped."""
    report = SourceReport(name=source.name, use=source.use, read=len(fates), notes=cleaned.notes)

    # 1. Count the pairs of each split, and those that each rule drops.
    counts = np.bincount(fates, minlength=len(FATES)).tolist()
    for fate, count in zip(FATES, counts, strict=True):
        if fate in SPLITS:
            report.kept[fate] = count
        elif count:
            report.dropped[fate] = count
    is_dropped = fates >= len(SPLITS)  # the splits come first among the fates
    # For testing, also the numbers, from 1, of the pairs that cannot be scored, as in a `HeldOutSet`.
    if source.use == "test":
        report.left_out = (np.flatnonzero(is_dropped) + 1).tolist()

    # 2. Show the first pairs that each rule drops.
    english_texts, persian_texts = (_chosen_lines(cleaned.folder / name, is_dropped) for name in RAW)
    dropped_pairs = zip(fates[is_dropped], cleaned.lines[is_dropped], english_texts, persian_texts, strict=True)
    for fate, line, english, persian in dropped_pairs:
        examples = report.examples.setdefault(FATES[fate], [])
        if len(examples) < EXAMPLES:
            examples.append(Example(int(line), shortened(english), shortened(persian)))
    return report


def _write_splits(
    cleaned: CleanSource, fates: Fates, folder: Path, name: str, source_side: Side, tag: str | None
) -> None:
    """Write the pairs of a source to `<split>/<name>.en` and `.fa` in `folder`; a split without pairs gets no files.

    Training text is normalized, and gets the `tag` of the source. Validation and test text stays raw: it is normalized
    where it is used, and a score compares with the references as they were read.
    """
    for fate, split in enumerate(SPLITS):
        is_chosen = fates == fate
        if not is_chosen.any():
            continue
        (folder / split).mkdir(exist_ok=True)
        spooled_files = NORMALIZED if fate == TRAIN else RAW
        for side, spooled_file in zip(SIDES, spooled_files, strict=True):
            lines = _chosen_lines(cleaned.folder / spooled_file, is_chosen)
            if fate == TRAIN and side == source_side and tag is not None:
                lines = tagged_lines(lines, tag)
            with (folder / split / f"{name}.{side}").open("wb") as file:
                file.writelines(lines)


def _chosen_lines(path: Path, is_chosen: Mask) -> Iterator[bytes]:
    """Yield the lines of a file that `is_chosen` (N,) marks, each with its line break; memory stays flat."""
    with path.open("rb", buffering=1 << 20) as lines:
        yield from itertools.compress(lines, is_chosen.tobytes())  # one byte, 0 or 1, per line


def _refuse_empty_sources(reports: Sequence[SourceReport]) -> None:
    """Raise CorpusError if no pair of a source remains, or no pair of any source for training."""
    summaries = []
    for report in reports:
        # What became of the pairs of this source, such as `duplicate 12, train 40`.
        counts = [*report.dropped.items(), *report.kept.items()]
        summary = ", ".join(f"{rule_or_split} {count:,}" for rule_or_split, count in counts if count)
        summaries.append(f"{report.name}: {summary}")
        if not report.out:
            problem = f"all {report.read:,} pairs were dropped ({summary})"
            # The notes tell which columns were read: they may be the wrong ones.
            advice = "; ".join([_advice_for_an_empty_source(report), *report.notes])
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
