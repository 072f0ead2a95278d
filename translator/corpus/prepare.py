"""From raw corpora to cleaned, split, leak-free text under a fingerprint of all that made it."""

import hashlib
import json
import logging
import shutil
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import ftfy

from translator.config import CorpusConfig, SourceConfig
from translator.corpus.candidates import Candidates, collect_candidates
from translator.corpus.duplicates import LEAK_RULES, Shelf
from translator.corpus.filters import DUPLICATE
from translator.corpus.normalize import NORMALIZER_VERSION
from translator.corpus.outcome import report_source, write_splits
from translator.corpus.report import CorpusReport, TestSetReport
from translator.corpus.selection import Contender, Fates, count_fates, select_pairs
from translator.corpus.sources import source_files
from translator.corpus.split import Split
from translator.errors import CorpusError
from translator.prepared import damaged, fingerprint_of, prepared_folder
from translator.shipped import present_path
from translator.stages import stage
from translator.storage import new_folder, storage_errors, write_json
from translator.workers import processes_for, refuse_in_starting_process

LOGGER: Final = logging.getLogger("translator")

PREPARE_VERSION: Final = 2
"""Raised whenever the same settings would give other text."""

Side = Literal["en", "fa"]
_REPORT: Final = "report.json"


@dataclass(frozen=True)
class PreparedCorpus:
    """Cleaned and split text on disk: normalized in the training split, raw in the others."""

    directory: Path
    fingerprint: str
    """64 hexadecimal digits of SHA-256 over the corpus files, the settings and the versions of the rules."""
    report: CorpusReport

    def names(self, split: Split) -> list[str]:
        """Return the names of the sources with pairs in `split`, in the order of the configuration."""
        names = dict.fromkeys(source.name for source in self.report.sources)
        return [name for name in names if self.count(split, name)]

    def lines(self, split: Split, name: str, side: Side) -> Iterator[str]:
        """Yield the texts of one side of source `name` in `split`, in order; both sides have the same number.

        Raises:
            StorageError: the file is missing, cut short or otherwise not what was written.
        """
        expected = self.count(split, name)
        if not expected:
            return
        path = self.directory / split / f"{name}.{side}"
        if not path.is_file():
            raise damaged(f"the prepared text {path}", "the file is missing", self.directory)
        whole = 0
        with storage_errors(path, "read"), path.open(encoding="utf-8", newline="\n") as stream:
            try:
                for line in stream:
                    whole += line.endswith("\n")
                    yield line.removesuffix("\n")
            except UnicodeDecodeError as error:
                raise damaged(f"the prepared text {path}", "it is not UTF-8", self.directory) from error
        if whole != expected:
            reason = f"it has {whole:,} whole lines, {expected:,} were written"
            raise damaged(f"the prepared text {path}", reason, self.directory)

    def count(self, split: Split, name: str) -> int:
        """Return the number of pairs of source `name` in `split`."""
        return self.report.kept(split, name)


def prepare_corpus(config: CorpusConfig, test_sets: Sequence[SourceConfig] = ()) -> PreparedCorpus:
    """Clean and split the sources, or take what an earlier call with the same files and settings made.

    No pair of the training split shares its folded source or target with validation, test or `test_sets`, and no pair
    of the validation split with test or `test_sets`.

    Args:
        test_sets: further test sets, which are only kept out of the other splits.

    Raises:
        CorpusError: a source cannot be read, or too little is left of it.
        StorageError: the prepared data cannot be written, or this is called by a script without a guarded main part.
    """
    refuse_in_starting_process()
    with stage("fingerprint"):
        fingerprint = corpus_fingerprint(config, test_sets)
    directory = prepared_folder(config.prepared_directory, "corpus", fingerprint)
    report = _finished_report(directory, fingerprint)
    if report is None:
        with new_folder(directory) as folder:
            report = _build(config, test_sets, folder, fingerprint)
            write_json(folder / _REPORT, report.to_json())
    return PreparedCorpus(directory, fingerprint, report)


def corpus_fingerprint(config: CorpusConfig, test_sets: Sequence[SourceConfig] = ()) -> str:
    """Return SHA-256 in hexadecimal over the bytes of the corpus files (not their paths), all settings and versions.

    Raises:
        CorpusError: a file is missing.
    """

    def description(source: SourceConfig) -> dict[str, Any]:
        files = []
        for file in source_files(source):
            with storage_errors(file, "read"), file.open("rb") as stream:
                files.append(hashlib.file_digest(stream, "sha256").hexdigest())
        where = {"path", "source_path", "target_path", "obtain", "weight"}
        # The same bytes are another corpus as two sides than as two tables of a folder.
        layout = "sides" if source.path is None else "folder" if present_path(source.path).is_dir() else "file"
        return {**source.model_dump(mode="json", exclude=where), "files": files, "layout": layout}

    settings = {
        "sources": [description(source) for source in config.sources],
        "test_sets": [description(source) for source in test_sets],
        **config.model_dump(mode="json", include={"normalization", "filters", "split"}),
        "versions": [NORMALIZER_VERSION, PREPARE_VERSION, ftfy.__version__, unicodedata.unidata_version],
    }
    return fingerprint_of(settings)


def _finished_report(directory: Path, fingerprint: str) -> CorpusReport | None:
    path = directory / _REPORT
    if not path.exists():
        return None
    try:
        with storage_errors(path, "read"):
            report = CorpusReport.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError):  # somebody has changed the file: make it anew
        return None
    if report.fingerprint != fingerprint:
        return None
    if _checksums(directory) != report.checksums:
        LOGGER.warning("the prepared text in %s is not what was written; it is made anew", directory)
        return None
    return report


def _build(config: CorpusConfig, test_sets: Sequence[SourceConfig], folder: Path, fingerprint: str) -> CorpusReport:
    spool = folder / "candidates"
    size = sum(file.stat().st_size for source in (*config.sources, *test_sets) for file in source_files(source))
    spool.mkdir()
    cleaned = len(config.sources)
    with Shelf(spool) as shelf:
        with stage("clean"):
            candidates = collect_candidates(config, test_sets, spool, shelf, processes_for(config.workers, size))
        with stage("select"):
            contenders = [
                Contender(item.source, item.keys, is_test_set=number >= cleaned)
                for number, item in enumerate(candidates)
            ]
            fates = select_pairs(contenders, shelf.near_duplicates, config)
    made = list(zip(candidates[:cleaned], fates[:cleaned], strict=True))
    _refuse_nothing(made)
    with stage("write"):
        for item, item_fates in made:
            write_splits(item, item_fates, folder)
        reports = tuple(report_source(item, item_fates) for item, item_fates in made)
    shutil.rmtree(spool)
    return CorpusReport(
        fingerprint=fingerprint,
        normalizer_version=NORMALIZER_VERSION,
        prepare_version=PREPARE_VERSION,
        sources=reports,
        test_sets=tuple(TestSetReport(item.source.name, len(item)) for item in candidates[cleaned:]),
        checksums=_checksums(folder),
    )


def _checksums(folder: Path) -> dict[str, int]:
    """Return CRC-32 of each prepared text in `folder`."""
    checksums = {}
    for path in sorted(folder.glob("*/*")):
        with storage_errors(path, "read"), path.open("rb") as stream:
            checksum = 0
            while block := stream.read(1 << 20):
                checksum = zlib.crc32(block, checksum)
            checksums[path.relative_to(folder).as_posix()] = checksum
    return checksums


def _refuse_nothing(made: Sequence[tuple[Candidates, Fates]]) -> None:
    """Refuse a source of which nothing is left, and a corpus without a training pair."""
    training = 0
    told = []
    for item, fates in made:
        dropped, kept = count_fates(fates)
        counts = Counter(dropped) + item.dropped
        shown = ", ".join(f"{what} {count:,}" for what, count in {**counts, **kept}.items() if count)
        told.append(f"{item.source.name}: {shown}")
        training += kept["train"]
        if not any(kept.values()):
            advice = "check the text, or loosen corpus.filters"
            if dropped[DUPLICATE] * 2 > item.read:
                advice = "it repeats another source; leave one of the two out"
            elif sum(dropped[rule] for rule in LEAK_RULES) * 2 > item.read:
                advice = "it repeats what is held out for validation or testing; leave the source or the test set out"
            raise CorpusError(
                f"corpus source `{item.source.name}`: all {item.read:,} pairs were dropped ({shown}); {advice}"
            )
    if not training:
        raise CorpusError(
            f"no pair is left for training ({'; '.join(told)}); hold out fewer pairs (corpus.split.validation, "
            "corpus.split.test), or add a source that does not share its sentences with those held out"
        )
