"""The preparation report: corpus, subwords, lengths and mixture, as JSON, text tables and an HTML page."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import translator
from translator.config import Config
from translator.config.corpus_section import Language
from translator.core import UNK
from translator.corpus.normalizer import Normalizer
from translator.corpus.preparation_counts import MEANINGS, CorpusReport, SourceReport
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.split import SPLITS, Split
from translator.data.mixture import MixtureRow
from translator.data.token_store import PairStore
from translator.run.logging import LOGGER
from translator.run.pages import render_page
from translator.run.storage import write_json, write_text
from translator.run.text import text_table
from translator.subword import SubwordModel, SubwordPair
from translator.subword.training import draw_lines

_FEWEST_PAIRS: Final = 3_000  # of the training text, below which a model only memorises it (docs/your-text.md)
_LINES: Final = 10_000  # maximum lines of each side on which subwords are counted
_SECTIONS: Final = ("sources", "rules", "examples", "mixture", "subwords", "tokens", "versions")


# --- lengths ---


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

    @property
    def usable(self) -> int:
        """The number of pairs within the limit."""
        return self.pairs - self.over_long


def measure_lengths(split: str, store: PairStore, limit: int) -> Iterator[LengthReport]:
    """Yield the report of each source in `store`; pairs with a side of more than `limit` tokens are over-long."""
    for name, (start, end) in zip(store.pairs, itertools.pairwise(store.starts.tolist()), strict=True):
        lengths = store.lengths(np.arange(start, end))
        fits = lengths.longer_side <= limit
        yield LengthReport(
            split=split,
            name=name,
            pairs=end - start,
            over_long=end - start - int(fits.sum()),
            longest=int(lengths.longer_side.max()),
            source_tokens=int(lengths.source[fits].sum()),
            target_tokens=int(lengths.target[fits].sum()),
        )


def format_lengths(reports: Sequence[LengthReport], limit: int) -> str:
    """Return the reports as a text table."""
    header = ("split", "source", "pairs", f"over {limit}", "longest", "source tokens", "target tokens")
    rows = []
    for report in reports:
        counts = (report.pairs, report.over_long, report.longest, report.source_tokens, report.target_tokens)
        cells = [f"{count:,}" for count in counts]
        rows.append([report.split, report.name, *cells])
    return f"lengths in tokens; pairs over {limit} are left out\n" + text_table(header, rows, text_columns=2)


# --- mixture ---


def format_mixture(mixture: Sequence[MixtureRow]) -> str:
    """Return the share of each source in an epoch as a text table."""
    header = ("source", "usable pairs", "weight", "share of an epoch", "drawn in an epoch", "each pair")
    rows = []
    for source in mixture:
        repetitions = f"{source.drawn / source.pairs:.2f} times" if source.pairs else "-"
        row = (
            source.name,
            f"{source.pairs:,}",
            f"{source.weight:g}",
            f"{source.share:.2%}",
            f"{source.drawn:,}",
            repetitions,
        )
        rows.append(row)
    return text_table(header, rows)


# --- subwords ---


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


def subword_tables(
    config: Config, corpus: PreparedCorpus, subword: SubwordPair, normalizer: Normalizer
) -> list[SubwordTable]:
    """Return a table per side, source first, over at most 10,000 lines drawn with `subword.seed`."""
    # Validation text is new to the models. Without it, training text is better than nothing.
    split: Split = "validation" if corpus.names("validation") else "train"
    model_type = f"{config.subword.model_type}, joint" if subword.joint else config.subword.model_type

    def drawn_lines(language: Language) -> Iterator[str]:
        return draw_lines(corpus, split, language.code, _LINES, config.subword.seed)

    source_language, target_language = config.corpus.languages
    source_lines = map(normalizer.source, drawn_lines(source_language))
    target_lines = map(normalizer.target, drawn_lines(target_language))
    return [
        _subword_table(source_language.name, model_type, subword.source, source_lines),
        _subword_table(target_language.name, model_type, subword.target, target_lines),
    ]


def _subword_table(
    language: str, model_type: str, model: SubwordModel, normalized_lines: Iterable[str]
) -> SubwordTable:
    lines = list(normalized_lines)
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


def format_subword_tables(tables: Sequence[SubwordTable]) -> str:
    """Return the tables as text, with a row per side."""
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


# --- the whole report ---


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
        titled_sources = list(zip(self.corpus.source_titles(), self.corpus.sources, strict=True))
        return render_page(
            "preparation.html.j2",
            title="Preparation report",
            sections=[(section, section.capitalize()) for section in _SECTIONS],
            version=translator.__version__,
            report=self,
            named=titled_sources,
            meanings=MEANINGS,
            rows=[_source_row(title, [source]) for title, source in titled_sources],
            total=_source_row("total", self.corpus.sources),
        )


def _source_row(title: str, sources: Sequence[SourceReport]) -> dict[str, Any]:
    """Return a row of the page's first table: the pairs of `sources`, and the parts of a bar with their shares."""
    # 1. Count pairs over all sources.
    pairs_read = sum(source.read for source in sources)
    row: dict[str, Any] = {"title": title, "read": pairs_read}
    for split in SPLITS:
        row[split] = sum(source.kept[split] for source in sources)

    # 2. Divide the bar into training text, held-out text and dropped pairs.
    held_out = row["validation"] + row["test"]
    row["out"] = row["train"] + held_out
    dropped = pairs_read - row["out"]
    divisor = max(pairs_read, 1)
    row["shares"] = [("train", row["train"] / divisor), ("held", held_out / divisor), ("gone", dropped / divisor)]
    return row


def preparation_report(
    config: Config,
    corpus: PreparedCorpus,
    subword: SubwordPair,
    normalizer: Normalizer,
    lengths: Sequence[LengthReport],
    mixture: Sequence[MixtureRow],
) -> PreparationReport:
    """Return the report on the recipe `config`; the other arguments are what `DataHandler.prepare` made of it."""
    return PreparationReport(
        corpus=corpus.report,
        subwords=subword_tables(config, corpus, subword, normalizer),
        lengths=lengths,
        max_length=config.batching.max_length,
        mixture=mixture,
    )


def write_preparation_report(report: PreparationReport, folder: Path) -> tuple[Path, Path]:
    """Write `report.json` and `report.html` into `folder`, each atomically, and return their paths."""
    json_path = folder / "report.json"
    html_path = folder / "report.html"
    write_json(json_path, report.to_json())
    write_text(html_path, report.page())
    return json_path, html_path


def warn_of_few_pairs(corpus: PreparedCorpus) -> None:
    """Warn if the training text is too small for a model of its own."""
    pairs = sum(corpus.count("train", name) for name in corpus.names("train"))
    if pairs < _FEWEST_PAIRS:
        LOGGER.warning(
            f"{pairs:,} training pairs: a model that is trained on so few repeats their sentences, and cannot "
            "translate others. A run on more text, fine-tuned on yours, can: "
            "translator fine-tune --run RUN --corpus PATH..."
        )
