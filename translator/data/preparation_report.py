"""Everything that preparing told: corpus, subwords, lengths and mixture, as JSON and as a page for a browser."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from translator.config import Config
from translator.corpus.report import CorpusReport
from translator.data.handler import DataHandler
from translator.data.length_report import LengthReport
from translator.data.mixture import MixtureRow
from translator.data.preparation_page import preparation_page
from translator.storage import write_json, write_text
from translator.subword.report import SubwordTable, subword_tables

JSON_NAME: Final = "report.json"
PAGE_NAME: Final = "report.html"


@dataclass(frozen=True)
class PreparationReport:
    """What came of preparing a recipe; the same for the same corpus and settings, whenever and wherever it is made."""

    corpus: CorpusReport
    subwords: Sequence[SubwordTable]
    """English and Persian."""
    lengths: Sequence[LengthReport]
    """Of each source of the training and the validation split."""
    max_length: int
    """`batching.max_length`, over which a pair is left out."""
    mixture: Sequence[MixtureRow]
    """Of each source of the training split."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""
        return {**asdict(self), "corpus": self.corpus.to_json()}

    def page(self) -> str:
        """Return the report as one self-contained HTML page."""
        return preparation_page(
            self.corpus, self.subwords, self.lengths, max_length=self.max_length, mixture=self.mixture
        )


def preparation_report(data: DataHandler, config: Config) -> PreparationReport:
    """Return what preparing `config` has told `data`."""
    return PreparationReport(
        corpus=data.corpus.report,
        subwords=subword_tables(data.subword, data.corpus, data.normalizer, config.subword),
        lengths=data.report,
        max_length=config.batching.max_length,
        mixture=data.mixture,
    )


def write_preparation_report(report: PreparationReport, folder: Path) -> tuple[Path, Path]:
    """Write `report.json` and `report.html` into `folder`, each whole or not at all, and return their paths.

    Raises:
        StorageError: the disk is full or the folder cannot be written.
    """
    values, page = folder / JSON_NAME, folder / PAGE_NAME
    write_json(values, report.to_json())
    write_text(page, report.page())
    return values, page
