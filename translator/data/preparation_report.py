"""The preparation report: corpus, subwords, lengths and mixture, as JSON, text tables and an HTML page."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

import translator
from translator.config import Config
from translator.core import UNK
from translator.corpus.preparation_counts import CorpusReport, format_report
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.selecting.split import MEANINGS, Split
from translator.data.handler import DataHandler, LengthReport
from translator.data.mixture import MixtureRow
from translator.run.files import write_json, write_text
from translator.run.logging import LOGGER
from translator.run.pages import render_page
from translator.run.text import text_table
from translator.subword.training import draw_lines

_FEWEST_PAIRS: Final = 3_000  # of the training text, below which a model only memorises it (docs/your-text.md)
_MOST_LINES: Final = 10_000  # of each side, on which subwords are counted
_SECTIONS: Final = ("sources", "rules", "examples", "mixture", "subwords", "tokens", "versions")


@dataclass(frozen=True)
class SubwordTable:
    """One side's model, and its statistics on the validation text, or, if there is none, on training text."""

    side: str
    model: str  # `unigram`, `bpe` or `char`; with `, joint` if both sides share it
    vocabulary_size: int
    pieces: int
    words: int
    pieces_per_word: float
    unknown: int
    byte_pieces: int


@dataclass(frozen=True)
class PreparationReport:
    """The results of preparing a recipe; they depend only on corpus and settings."""

    corpus: CorpusReport
    subwords: Sequence[SubwordTable]
    lengths: Sequence[LengthReport]
    max_length: int
    mixture: Sequence[MixtureRow]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        values: dict[str, Any] = TypeAdapter(PreparationReport).dump_python(self, mode="json")
        return values

    def tables(self) -> str:
        """Return the report as text tables; the mixture only if it draws some pairs more often than others."""
        lengths = f"lengths in tokens; pairs with a side over {self.max_length} are left out\n{_table(self.lengths)}"
        tables = [format_report(self.corpus), lengths]
        if any(row.drawn != row.pairs for row in self.mixture):
            tables.append(f"mixture of an epoch\n{_table(self.mixture)}")
        return "\n\n".join([*tables, f"subwords\n{_table(self.subwords)}"])

    def page(self) -> str:
        """Return one self-contained HTML page; text of the corpus is escaped."""
        return render_page(
            "preparation.html.j2",
            title="Preparation report",
            sections=[(section, section.capitalize()) for section in _SECTIONS],
            version=translator.__version__,
            report=self,
            columns=self.corpus.columns(),
            meanings=MEANINGS,
        )

    def write(self, folder: Path) -> Path:
        """Write `report.json` and `report.html` into `folder`, each atomically; return the path of the page."""
        page = folder / "report.html"
        write_json(folder / "report.json", self.to_json())
        write_text(page, self.page())
        return page


def preparation_report(config: Config, data: DataHandler) -> PreparationReport:
    """Return the report on the recipe `config`, of which `data` was made."""
    return PreparationReport(
        corpus=data.corpus.report,
        subwords=_subword_tables(config, data),
        lengths=data.report,
        max_length=config.batching.max_length,
        mixture=data.mixture,
    )


def _subword_tables(config: Config, data: DataHandler) -> list[SubwordTable]:
    """Return a table per side, source first, over at most 10,000 lines drawn at random."""
    # Validation text is new to the models. Without it, training text is better than nothing.
    split: Split = "validation" if data.corpus.names("validation") else "train"
    model_type = f"{config.subword.model_type}, joint" if data.subword.joint else config.subword.model_type

    # Count words and pieces of each side.
    tables = []
    for language, model, normalize in zip(
        config.corpus.languages,
        (data.subword.source, data.subword.target),
        (data.normalizer.source, data.normalizer.target),
        strict=True,
    ):
        drawn_lines = draw_lines(data.corpus, split, language.code, _MOST_LINES)
        lines = list(map(normalize, drawn_lines))  # validation text is stored as it was read
        words = sum(len(line.split()) for line in lines)
        counts = Counter(itertools.chain.from_iterable(model.encode(lines)))  # of each id
        table = SubwordTable(
            side=language.name,
            model=model_type,
            vocabulary_size=model.vocabulary_size,
            pieces=counts.total(),
            words=words,
            pieces_per_word=counts.total() / max(words, 1),
            unknown=counts[UNK],
            byte_pieces=sum(counts[token] for token in model.byte_ids),
        )
        tables.append(table)
    return tables


def _table(records: Sequence[LengthReport | MixtureRow | SubwordTable]) -> str:
    """Return records of one kind as a text table, under the names of their fields; first come those of text."""
    names = [field.name for field in fields(records[0])]
    rows = []
    for record in records:
        rows.append([_shown(getattr(record, name)) for name in names])
    text_columns = sum(isinstance(getattr(records[0], name), str) for name in names)
    return text_table([name.replace("_", " ") for name in names], rows, text_columns=text_columns)


def _shown(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def warn_of_few_pairs(corpus: PreparedCorpus) -> None:
    """Warn if the training text is too small for a model of its own."""
    pairs = sum(corpus.count("train", name) for name in corpus.names("train"))
    if pairs < _FEWEST_PAIRS:
        LOGGER.warning(
            f"{pairs:,} training pairs: a model that is trained on so few repeats their sentences, and cannot "
            "translate others. A run on more text, fine-tuned on yours, can: "
            "translator fine-tune --run RUN --corpus PATH..."
        )
