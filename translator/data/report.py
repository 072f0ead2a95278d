"""The preparation report: corpus, subwords, lengths and mixture, as JSON, text tables and an HTML page."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import translator
from translator.config import Config
from translator.config.corpus_section import Language
from translator.corpus.report import MEANINGS, CorpusReport, SourceReport
from translator.corpus.split import SPLITS, Split
from translator.data.batching import MixtureRow
from translator.data.token_store import PairStore
from translator.run.pages import render_page
from translator.run.storage import write_json, write_text
from translator.run.text import text_table
from translator.special_tokens import UNK
from translator.subword import SubwordModel
from translator.subword.training import draw_lines

if TYPE_CHECKING:
    from translator.data.handler import DataHandler

_LINES = 10_000  # maximum lines of each side on which subwords are counted
_SECTIONS = ("sources", "rules", "examples", "mixture", "subwords", "tokens", "versions")


@dataclass(frozen=True)
class LengthReport:
    """Token counts and over-long pairs of one source of one split."""

    split: str
    name: str
    pairs: int
    over_long: int  # pairs excluded because a side has more than `batching.max_length` tokens
    longest: int  # tokens of the longest side, special token included
    source_tokens: int  # of the pairs within the limit, counting one special token per sentence
    target_tokens: int


def measure_lengths(split: str, store: PairStore, limit: int) -> Iterator[LengthReport]:
    """Yield the report of each source in `store`; pairs with a side of more than `limit` tokens are over-long."""
    for name, (start, end) in zip(store.names, itertools.pairwise(store.starts), strict=True):
        longer = store.longer_side[start:end]
        fits = longer <= limit
        tokens = [int(side[start:end][fits].sum()) for side in (store.source_lengths, store.target_lengths)]
        yield LengthReport(split, name, len(fits), int(np.sum(~fits)), int(longer.max(initial=0)), *tokens)


def format_lengths(reports: Sequence[LengthReport], limit: int) -> str:
    """Return the reports as a text table."""
    header = ("split", "source", "pairs", f"over {limit} tokens", "longest", "source tokens", "target tokens")
    rows = [[row.split, row.name, *(f"{count:,}" for count in astuple(row)[2:])] for row in reports]
    return text_table(header, rows, text_columns=2)


def format_mixture(rows: Sequence[MixtureRow]) -> str:
    """Return the share of each source in an epoch as a text table."""
    header = ("source", "usable pairs", "weight", "share of an epoch", "drawn in an epoch", "each pair")
    cells = []
    for row in rows:
        each = f"{row.drawn / row.pairs:.2f} times" if row.pairs else "-"
        cells.append((row.name, f"{row.pairs:,}", f"{row.weight:g}", f"{row.share:.2%}", f"{row.drawn:,}", each))
    return text_table(header, cells)


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


def subword_tables(data: "DataHandler", config: Config) -> list[SubwordTable]:
    """Return a table per side, source first, over at most 10,000 lines drawn with `subword.seed`."""
    kind = f"{config.subword.model_type}, joint" if data.subword.joint else config.subword.model_type
    split: Split = "validation" if data.corpus.names("validation") else "train"
    source, target = config.corpus.languages
    sides: tuple[tuple[Language, SubwordModel, Callable[[str], str]], ...] = (
        (source, data.subword.source, data.normalizer.source),
        (target, data.subword.target, data.normalizer.target),
    )
    tables = []
    for (code, name, *_), model, normalize in sides:
        lines = list(map(normalize, draw_lines(data.corpus, split, code, _LINES, config.subword.seed)))
        pieces = Counter(itertools.chain.from_iterable(model.encode(lines)))
        count, words = pieces.total(), sum(len(line.split()) for line in lines)
        in_bytes = sum(pieces[token] for token in model.byte_ids)
        sizes = (model.vocabulary_size, count, words)
        tables.append(SubwordTable(name, kind, *sizes, count / max(words, 1), pieces[UNK], in_bytes))
    return tables


def format_subword_tables(tables: Sequence[SubwordTable]) -> str:
    """Return the tables as text, with a row per side."""
    header = ["subwords", "model", "vocabulary", "pieces", "words", "pieces/word", "unknown", "bytes"]
    rows = []
    for table in tables:
        sizes = (f"{count:,}" for count in (table.vocabulary_size, table.pieces, table.words))
        lacking = (f"{table.unknown:,}", f"{table.byte_pieces:,}")
        rows.append([table.side, table.model, *sizes, f"{table.pieces_per_word:.3f}", *lacking])
    return text_table(header, rows, text_columns=2)


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
        return asdict(self)

    def page(self) -> str:
        """Return one self-contained HTML page; text of the corpus is escaped."""
        named = list(zip(self.corpus.source_titles(), self.corpus.sources, strict=True))
        return render_page(
            "preparation.html.j2",
            title="Preparation report",
            sections=[(section, section.capitalize()) for section in _SECTIONS],
            version=translator.__version__,
            report=self,
            named=named,
            meanings=MEANINGS,
            rows=[_source_row(title, [source]) for title, source in named],
            total=_source_row("total", self.corpus.sources),
        )


def _source_row(title: str, sources: Sequence[SourceReport]) -> dict[str, Any]:
    read = sum(source.read for source in sources)
    kept: dict[str, int] = {split: sum(source.kept[split] for source in sources) for split in SPLITS}
    out = sum(kept.values())
    parts = (("train", kept["train"]), ("held", out - kept["train"]), ("gone", read - out))
    shares = [(style, count / max(read, 1)) for style, count in parts]
    return {"title": title, "read": read, "out": out, "shares": shares, **kept}


def preparation_report(data: "DataHandler", config: Config) -> PreparationReport:
    """Return the report on `config`, which `data` has prepared."""
    tables = subword_tables(data, config)
    return PreparationReport(data.corpus.report, tables, data.report, config.batching.max_length, data.mixture)


def write_preparation_report(report: PreparationReport, folder: Path) -> tuple[Path, Path]:
    """Write `report.json` and `report.html` into `folder`, each atomically, and return their paths."""
    values, page = folder / "report.json", folder / "report.html"
    write_json(values, report.to_json())
    write_text(page, report.page())
    return values, page
