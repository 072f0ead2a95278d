"""Attention maps: the decoder's attention to the source. Word alignments: the word pairs derived from it.

T target length, S source length
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from translator.core import EOS, SPECIAL_TOKENS
from translator.core.hypothesis import Hypothesis
from translator.corpus.tags import SOURCE_TAGS
from translator.inference.engines.searcher import Searcher
from translator.inference.text.segments import Segment
from translator.subword import SubwordModel, SubwordPair

WORD_MARK: Final = "▁"  # SentencePiece's mark before the first piece of a word
LEAST_SHARE: Final = 0.01  # `word_weights` omits source words with a smaller share of a word's attention
_END: Final = SPECIAL_TOKENS[EOS][0]  # the piece of EOS


class AttentionMap(NamedTuple):
    """The decoder's attention to the source pieces for each target piece."""

    source: list[str]
    target: list[str]
    weights: npt.NDArray[np.float32]  # (T, S) cross-attention of the last layer, averaged over heads; rows sum to 1

    def to_json(self) -> dict[str, Any]:
        """Return the map for JSON, with weights rounded to four decimal places."""
        rounded_rows = []
        for row in self.weights:
            rounded_rows.append([round(float(weight), 4) for weight in row])
        return {"source": self.source, "target": self.target, "weights": rounded_rows}


@dataclass(frozen=True)
class Alignment:
    """A word alignment: the source word of each word of a translation, by attention."""

    source: tuple[str, ...] = ()  # words, after normalization
    target: tuple[str, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    """(source word, target word), indexes from 0, in target order; one pair per target word."""

    @property
    def pharaoh(self) -> str:
        """The pairs in the format of Pharaoh and fast_align: `0-0 1-2`."""
        return " ".join(f"{source}-{target}" for source, target in self.pairs)


def join_alignments(alignments: Iterable[Alignment]) -> Alignment:
    """Return the alignment of a text from those of its parts, in order."""
    source_words: list[str] = []
    target_words: list[str] = []
    pairs: list[tuple[int, int]] = []
    for alignment in alignments:
        for source, target in alignment.pairs:
            pairs.append((source + len(source_words), target + len(target_words)))
        source_words += alignment.source
        target_words += alignment.target
    return Alignment(source=tuple(source_words), target=tuple(target_words), pairs=tuple(pairs))


def attention_of(
    searcher: Searcher, subword: SubwordPair, segment: Segment, hypothesis: Hypothesis
) -> tuple[AttentionMap, Alignment]:
    """Return the attention map and the word alignment of a hypothesis.

    Args:
        searcher: an engine that gives attention.
        subword: spells the ids of both sides.
        segment: the source; placeholders are shown as the text that they stand for.
        hypothesis: a translation of the segment.

    Raises InputError: the engine gives no attention.
    """
    # 1. The weights. A finished hypothesis ends in EOS.
    label = list(hypothesis.tokens)
    if hypothesis.finished:
        label.append(EOS)
    weights = searcher.cross_attention(segment.ids, label)

    # A tag is no word of the source; its attention goes to the words in proportion.
    tag_length = _tag_length(subword.source.pieces_of(segment.ids))
    source_ids = segment.ids[tag_length:]
    if tag_length:
        weights = weights[:, tag_length:]
        weights = weights / weights.sum(axis=1, keepdims=True)

    # 2. The pieces and words of both sides, with the text of their placeholders.
    spellings = {}
    for placeholder in subword.source.placeholders:
        spellings[ord(placeholder)] = segment.copied.get(placeholder, "")

    def shown(pieces: Iterable[str]) -> list[str]:
        return [piece.translate(spellings) for piece in pieces]

    attention_map = AttentionMap(
        source=shown(subword.source.pieces_of([*source_ids, EOS])),
        target=shown(subword.target.pieces_of(label)),
        weights=weights,
    )
    alignment = align_words(subword, source_ids, hypothesis.tokens, weights)
    source_words, target_words = tuple(shown(alignment.source)), tuple(shown(alignment.target))
    return attention_map, replace(alignment, source=source_words, target=target_words)


def _tag_length(pieces: Sequence[str]) -> int:
    """Return the number of pieces of the tag at the start of a source."""
    for place, piece in enumerate(pieces[:2]):  # the word mark may be a piece of its own
        if piece.strip(WORD_MARK) in SOURCE_TAGS and piece != WORD_MARK:
            return place + 1
    return 0


def align_words(
    subword: SubwordPair, source_ids: Sequence[int], target_ids: Sequence[int], weights: npt.NDArray[np.float32]
) -> Alignment:
    """Return the alignment of each target word to the source word with the most attention, summed over their pieces.

    A side without words gives no pairs.

    Args:
        subword: spells the ids of both sides.
        source_ids: without EOS.
        target_ids: without EOS.
        weights: (T, S) attention; attention to or from EOS, if it is there, is ignored.
    """
    source_spans = word_spans(subword.source.pieces_of(source_ids))
    target_spans = word_spans(subword.target.pieces_of(target_ids))
    source_words = _words(subword.source, source_ids, source_spans)
    target_words = _words(subword.target, target_ids, target_spans)
    if not source_words:
        return Alignment(target=target_words)
    source_starts = [start for start, _ in source_spans]
    word_attention = np.add.reduceat(weights[:, : len(source_ids)], source_starts, axis=1)  # (T, words of the source)
    pairs = []
    for target_word, (start, end) in enumerate(target_spans):
        source_word = int(word_attention[start:end].sum(axis=0).argmax())
        pairs.append((source_word, target_word))
    return Alignment(source=source_words, target=target_words, pairs=tuple(pairs))


def _words(model: SubwordModel, ids: Sequence[int], spans: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Return the words of `ids` at `spans`."""
    words = model.decode_ids([ids[start:end] for start, end in spans])
    return tuple(word.strip() for word in words)


def word_spans(pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Return (begin, end) of each word in `pieces`; a lone word mark belongs to the piece after it."""
    starts = []
    for place, piece in enumerate(pieces):
        if place == 0 or (piece.startswith(WORD_MARK) and pieces[place - 1] != WORD_MARK):
            starts.append(place)
    return list(pairwise([*starts, len(pieces)])) if starts else []


def word_weights(maps: Sequence[AttentionMap]) -> list[list[list[float]]]:
    """Return, per target word, `[source word, share]` of each source word with at least `LEAST_SHARE` of its attention.

    A share is summed over the source word's pieces and averaged over the target word's pieces. EOS is not a word.

    Args:
        maps: those of the segments of one text; word indexes start at 0 and continue across segments.
    """
    target_words: list[list[list[float]]] = []
    words_before = 0
    for attention_map in maps:
        source_spans = word_spans(_without_end(attention_map.source))
        for start, end in word_spans(_without_end(attention_map.target)):
            piece_shares = attention_map.weights[start:end].mean(axis=0)  # (S,)
            shares: list[list[float]] = []
            for word, (first, last) in enumerate(source_spans, words_before):
                share = float(piece_shares[first:last].sum())
                if share >= LEAST_SHARE:
                    shares.append([word, round(share, 3)])
            target_words.append(shares)
        words_before += len(source_spans)
    return target_words


def _without_end(pieces: Sequence[str]) -> Sequence[str]:
    """Return `pieces` without the EOS at their end, if it is there."""
    return pieces[:-1] if pieces[-1:] == [_END] else pieces
