"""Attention maps: the decoder's attention to the source. Word alignments, which follow from them.

T target length, S source length
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from translator.core import EOS, SPECIAL_TOKENS
from translator.core.hypothesis import Hypothesis
from translator.corpus.tags import SOURCE_TAGS
from translator.inference.engines.searcher import Searcher
from translator.inference.text.segments import Segment
from translator.subword import SubwordPair

WORD_MARK: Final = "▁"  # SentencePiece's mark before the first piece of a word
LEAST_SHARE: Final = 0.01  # of the attention of a target word
_BYTES: Final = re.compile(r"(?:<0x[0-9A-F]{2}>)+")
_END: Final = SPECIAL_TOKENS[EOS][0]  # the piece of EOS


class AttentionMap(NamedTuple):
    """The decoder's attention to the source pieces for each target piece."""

    source: list[str]
    target: list[str]
    weights: npt.NDArray[np.float32]  # (T, S) cross-attention of the last layer, averaged over heads; rows sum to 1

    def to_json(self) -> dict[str, Any]:
        """Return the map for JSON, with weights rounded to four decimal places."""
        rounded = self.weights.astype(float).round(4).tolist()
        return {"source": self.source, "target": self.target, "weights": rounded}


class Alignment(NamedTuple):
    """A word alignment: the source word of each word of a translation, by attention."""

    source: list[str]  # words, after normalization
    target: list[str]
    pairs: list[tuple[int, int]]  # (source word, target word), indexes from 0, in target order; one per target word
    shares: list[list[tuple[int, float]]]
    """For each target word, (source word, share) of each source word with at least `LEAST_SHARE` of its attention."""

    @property
    def pharaoh(self) -> str:
        """The pairs in the format of Pharaoh and fast_align: `0-0 1-2`."""
        return " ".join(f"{source}-{target}" for source, target in self.pairs)


def attention_of(searcher: Searcher, subword: SubwordPair, segment: Segment, hypothesis: Hypothesis) -> AttentionMap:
    """Return the attention map of a hypothesis.

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

    # The tag before a source (`search.tag`) is no word. Leave its weights out, and scale the others to sum to 1 again.
    tag_length = _tag_length(subword.source.pieces_of(segment.ids))
    source_ids = segment.ids[tag_length:]
    if tag_length:
        weights = weights[:, tag_length:]
        weights = weights / weights.sum(axis=1, keepdims=True)

    # 2. The pieces of both sides, with the text of their placeholders.
    copied_texts = {}  # by the code point of the placeholder, as `str.translate` needs it
    for placeholder in subword.source.placeholders:
        copied_texts[ord(placeholder)] = segment.copied.get(placeholder, "")
    source_pieces = subword.source.pieces_of([*source_ids, EOS])  # the weights include EOS
    target_pieces = subword.target.pieces_of(label)
    return AttentionMap(
        source=[piece.translate(copied_texts) for piece in source_pieces],
        target=[piece.translate(copied_texts) for piece in target_pieces],
        weights=weights,
    )


def _tag_length(pieces: Sequence[str]) -> int:
    """Return the number of pieces of the tag at the start of a source."""
    for place, piece in enumerate(pieces[:2]):  # the word mark may be a piece of its own
        if piece.strip(WORD_MARK) in SOURCE_TAGS and piece != WORD_MARK:  # a lone mark becomes ""
            return place + 1
    return 0


def align_words(maps: Iterable[AttentionMap]) -> Alignment:
    """Return the alignment of a text, by the maps of its segments: the most attended source word of each target word.

    Attention is summed over the pieces of a source word and averaged over those of a target word. EOS is not a word,
    and a side without words gives no pairs.
    """
    alignment = Alignment(source=[], target=[], pairs=[], shares=[])
    for attention_map in maps:
        words_before = len(alignment.source)  # source words of the earlier segments
        source_spans = _word_spans(attention_map.source)
        for start, end in _word_spans(attention_map.target):
            piece_shares = attention_map.weights[start:end].mean(axis=0)  # (S,) of each source piece
            # The share of each source word of this segment.
            shares = [float(piece_shares[first:last].sum()) for first, last in source_spans]
            if shares:
                closest = words_before + shares.index(max(shares))
                alignment.pairs.append((closest, len(alignment.target)))
            large_shares = []
            for word, share in enumerate(shares, words_before):
                if share >= LEAST_SHARE:
                    large_shares.append((word, round(share, 3)))
            alignment.shares.append(large_shares)
            alignment.target.append(_word(attention_map.target[start:end]))
        alignment.source.extend(_word(attention_map.source[first:last]) for first, last in source_spans)
    return alignment


def _word_spans(pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Return (begin, end) of each word in `pieces`; a lone word mark belongs to the piece after it."""
    without_end = pieces[:-1] if pieces[-1:] == [_END] else pieces
    starts = []
    for place, piece in enumerate(without_end):
        if place == 0 or (piece.startswith(WORD_MARK) and pieces[place - 1] != WORD_MARK):
            starts.append(place)
    return list(pairwise([*starts, len(without_end)])) if starts else []


def _word(pieces: Sequence[str]) -> str:
    """Return the word of some pieces, of which some may be bytes, such as `<0xC3>`."""

    def decoded(run: re.Match[str]) -> str:
        return bytes.fromhex(run[0].replace("<0x", "").replace(">", "")).decode("utf-8", "ignore")

    return _BYTES.sub(decoded, "".join(pieces).replace(WORD_MARK, ""))
