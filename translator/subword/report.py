"""What the subword models make of text: pieces per word, coverage, and their longest pieces."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from translator.config import SubwordConfig
from translator.corpus.normalize import Normalizer
from translator.corpus.prepare import PreparedCorpus, Side
from translator.special_tokens import UNK
from translator.subword.model import SubwordModel
from translator.subword.pair import SubwordPair
from translator.subword.training_sample import draw_lines
from translator.text_table import text_table

_LINES: Final = 10_000
"""Of each side that are looked at, at most."""
_LINES_AT_ONCE: Final = 1000
_LONGEST: Final = 20


@dataclass(frozen=True)
class SubwordTable:
    """One side's model, and what it makes of the validation text, or of training text where there is no other."""

    side: str
    """`English` or `Persian`."""
    model: str
    """`unigram`, `bpe` or `char`; with `, joint` where both sides share it."""
    vocabulary_size: int
    """Pieces, special tokens included."""
    pieces: int
    """In the text."""
    words: int
    """In the text, between spaces."""
    pieces_per_word: float
    coverage: float
    """Share of the characters of the text, spaces left out, that are in the vocabulary, bytes left out."""
    unknown: int
    """UNK among the pieces."""
    byte_pieces: int
    """Bytes among the pieces."""
    longest: tuple[str, ...]
    """The twenty longest pieces of the vocabulary, a word's start shown as `▁`."""


def subword_tables(
    pair: SubwordPair, corpus: PreparedCorpus, normalizer: Normalizer, config: SubwordConfig
) -> list[SubwordTable]:
    """Return a table for each side, English first, over at most 10,000 lines drawn by `subword.seed`.

    Raises:
        StorageError: the prepared text is damaged.
    """
    held_out = bool(corpus.names("validation"))
    kind = f"{config.model_type}, joint" if pair.joint else config.model_type
    tables = []
    for name, side, model in (("English", "en", pair.source), ("Persian", "fa", pair.target)):
        lines = _lines(corpus, "en" if side == "en" else "fa", normalizer, config.seed, held_out)
        tables.append(_measure(name, kind, model, lines))
    return tables


def _lines(corpus: PreparedCorpus, side: Side, normalizer: Normalizer, seed: int, held_out: bool) -> Iterable[str]:
    """Return normalized text of one side; that of the training split is normalized already."""
    if not held_out:
        return draw_lines(corpus, "train", side, _LINES, seed)
    normalize = normalizer.source if side == "en" else normalizer.target
    return map(normalize, draw_lines(corpus, "validation", side, _LINES, seed))


def _measure(side: str, kind: str, model: SubwordModel, lines: Iterable[str]) -> SubwordTable:
    """Return the table of one model and its text."""
    pieces: Counter[int] = Counter()
    characters: Counter[str] = Counter()
    words = 0
    lines = iter(lines)
    while chunk := list(itertools.islice(lines, _LINES_AT_ONCE)):
        for line, ids in zip(chunk, model.encode(chunk), strict=True):
            words += len(line.split())
            characters.update(model.normalized(line))
            pieces.update(ids)
    del characters[" "]
    alphabet = set(model.text_pieces.values())
    known = sum(count for character, count in characters.items() if character in alphabet)
    longest = sorted(model.text_pieces.items(), key=lambda item: (-len(item[1]), item[0]))[:_LONGEST]
    return SubwordTable(
        side=side,
        model=kind,
        vocabulary_size=model.vocabulary_size,
        pieces=pieces.total(),
        words=words,
        pieces_per_word=pieces.total() / max(words, 1),
        coverage=known / max(characters.total(), 1),
        unknown=pieces[UNK],
        byte_pieces=sum(count for token, count in pieces.items() if token in model.byte_ids),
        longest=tuple(piece for _, piece in longest),
    )


def format_subword_tables(tables: Sequence[SubwordTable]) -> str:
    """Return the tables for a person: a row for each side, and its longest pieces below."""
    header = ["subwords", "model", "vocabulary", "pieces", "words", "pieces/word", "coverage", "unknown", "bytes"]
    rows = [
        [
            table.side,
            table.model,
            f"{table.vocabulary_size:,}",
            f"{table.pieces:,}",
            f"{table.words:,}",
            f"{table.pieces_per_word:.3f}",
            f"{table.coverage:.3%}",
            f"{table.unknown:,}",
            f"{table.byte_pieces:,}",
        ]
        for table in tables
    ]
    longest = [f"longest pieces, {table.side}: {' '.join(table.longest)}" for table in tables]
    return "\n".join([text_table(header, rows, text_columns=2), *longest])
