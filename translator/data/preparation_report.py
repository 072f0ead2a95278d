"""The preparation report: corpus, subwords, lengths and mixture, as JSON, text tables and an HTML page."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

import translator
from translator.config import Config
from translator.core import UNK
from translator.corpus.preparation_counts import MEANINGS, CorpusReport, format_report
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.selecting.split import Split
from translator.data.handler import DataHandler, LengthReport
from translator.data.mixture import MixtureRow
from translator.run.files import write_json, write_text
from translator.run.logging import LOGGER
from translator.run.pages import render_page
from translator.run.text import text_table
from translator.subword import SubwordModel
from translator.subword.training import draw_lines

_FEWEST_PAIRS: Final = 3_000  # of the training text, below which a model only memorises it (docs/your-text.md)
_LINES: Final = 10_000  # maximum lines of each side on which subwords are counted
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
        tables = [format_report(self.corpus), length_table(self.lengths, self.max_length)]
        if any(row.drawn != row.pairs for row in self.mixture):
            tables.append(mixture_table(self.mixture))
        return "\n\n".join([*tables, subword_table(self.subwords)])

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
    tables = []
    for language, model, normalize in zip(
        config.corpus.languages,
        (data.subword.source, data.subword.target),
        (data.normalizer.source, data.normalizer.target),
        strict=True,
    ):
        lines = draw_lines(data.corpus, split, language.code, _LINES)
        tables.append(_counted(language.name, model_type, model, list(map(normalize, lines))))
    return tables


def _counted(language: str, model_type: str, model: SubwordModel, lines: Sequence[str]) -> SubwordTable:
    """Return the table of a side, counted on normalized lines."""
    words = sum(len(line.split()) for line in lines)
    counts = Counter(itertools.chain.from_iterable(model.encode(lines)))
    pieces = counts.total()
    return SubwordTable(
        side=language,
        model=model_type,
        vocabulary_size=model.vocabulary_size,
        pieces=pieces,
        words=words,
        pieces_per_word=pieces / max(words, 1),
        unknown=counts[UNK],
        byte_pieces=sum(counts[token] for token in model.byte_ids),
    )


# --- text tables ---


def length_table(reports: Sequence[LengthReport], limit: int) -> str:
    """Return the lengths of each source as a text table."""
    header = ("split", "source", "pairs", f"over {limit}", "longest", "source tokens", "target tokens")
    rows = []
    for report in reports:
        counts = (report.pairs, report.over_long, report.longest, report.source_tokens, report.target_tokens)
        rows.append([report.split, report.name, *(f"{count:,}" for count in counts)])
    return f"lengths in tokens; pairs over {limit} are left out\n" + text_table(header, rows, text_columns=2)


def mixture_table(mixture: Sequence[MixtureRow]) -> str:
    """Return the share of each source in an epoch as a text table."""
    header = ("source", "usable pairs", "weight", "share of an epoch", "drawn in an epoch", "each pair")
    rows = []
    for source in mixture:
        row = (
            source.name,
            f"{source.pairs:,}",
            f"{source.weight:g}",
            f"{source.share:.2%}",
            f"{source.drawn:,}",
            f"{source.drawn / source.pairs:.2f} times" if source.pairs else "-",
        )
        rows.append(row)
    return text_table(header, rows)


def subword_table(tables: Sequence[SubwordTable]) -> str:
    """Return the models of both sides as a text table."""
    header = ("subwords", "model", "vocabulary", "pieces", "words", "pieces/word", "unknown", "bytes")
    rows = []
    for table in tables:
        row = (
            table.side,
            table.model,
            f"{table.vocabulary_size:,}",
            f"{table.pieces:,}",
            f"{table.words:,}",
            f"{table.pieces_per_word:.3f}",
            f"{table.unknown:,}",
            f"{table.byte_pieces:,}",
        )
        rows.append(row)
    return text_table(header, rows, text_columns=2)


def warn_of_few_pairs(corpus: PreparedCorpus) -> None:
    """Warn if the training text is too small for a model of its own."""
    pairs = sum(corpus.count("train", name) for name in corpus.names("train"))
    if pairs < _FEWEST_PAIRS:
        LOGGER.warning(
            f"{pairs:,} training pairs: a model that is trained on so few repeats their sentences, and cannot "
            "translate others. A run on more text, fine-tuned on yours, can: "
            "translator fine-tune --run RUN --corpus PATH..."
        )
