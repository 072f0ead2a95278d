"""Attention maps: the decoder's attention to the source. Word alignments: the word pairs derived from it.

T target length, S source length
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from translator.special_tokens import EOS, SPECIAL_TOKENS
from translator.subword import SubwordPair

WORD_MARK: Final = "▁"  # SentencePiece's mark before the first piece of a word
LEAST_SHARE: Final = 0.01  # `word_weights` omits source words with a smaller share of a word's attention


class AttentionMap(NamedTuple):
    """The decoder's attention to the source pieces for each target piece."""

    source: list[str]
    target: list[str]
    weights: npt.NDArray[np.float32]  # (T, S) cross-attention of the last layer, averaged over heads; rows sum to 1

    def to_json(self) -> dict[str, Any]:
        """Return the map for JSON, with weights rounded to four decimal places."""
        rows = [[round(float(weight), 4) for weight in row] for row in self.weights]
        return {"source": self.source, "target": self.target, "weights": rows}


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

    def __add__(self, other: "Alignment") -> "Alignment":
        """Return the alignment of this text followed by the other."""
        pairs = tuple((source + len(self.source), target + len(self.target)) for source, target in other.pairs)
        return Alignment(self.source + other.source, self.target + other.target, self.pairs + pairs)


def align_words(
    subword: SubwordPair, source_ids: Sequence[int], target_ids: Sequence[int], weights: npt.NDArray[np.float32]
) -> Alignment:
    """Return the alignment of each target word to the source word with the most attention, summed over their pieces.

    The ids have no EOS; the (T, S) weights may, and its attention is ignored. A side without words gives no pairs.
    """
    sides = ((subword.source, source_ids), (subword.target, target_ids))
    spans = [word_spans(model.pieces_of(ids)) for model, ids in sides]
    source, target = (
        tuple(word.strip() for word in model.decode_ids([ids[start:end] for start, end in own]))
        for (model, ids), own in zip(sides, spans, strict=True)
    )
    if not source:
        return Alignment(target=target)
    starts = [start for start, _ in spans[0]]
    by_word = np.add.reduceat(weights[:, : len(source_ids)], starts, axis=1)  # (T, words of the source)
    looked = [int(by_word[start:end].sum(axis=0).argmax()) for start, end in spans[1]]
    return Alignment(source, target, tuple((word, number) for number, word in enumerate(looked)))


def word_spans(pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Return (begin, end) of each word in `pieces`; a lone word mark belongs to the piece after it."""
    starts = [
        place
        for place, piece in enumerate(pieces)
        if place == 0 or (piece.startswith(WORD_MARK) and pieces[place - 1] != WORD_MARK)
    ]
    return list(pairwise([*starts, len(pieces)])) if starts else []


def word_weights(maps: Sequence[AttentionMap]) -> list[list[list[float]]]:
    """Return, per target word, `[source word, share]` of each source word with at least `LEAST_SHARE` of its attention.

    A share is summed over the source word's pieces and averaged over the target word's pieces. EOS is not a word.
    `maps` are those of the segments of one text; word indexes start at 0 and continue across segments.
    """
    found: list[list[list[float]]] = []
    words_before = 0
    end = SPECIAL_TOKENS[EOS][0]
    for one in maps:
        source, target = (word_spans(side[:-1] if side[-1:] == [end] else side) for side in (one.source, one.target))
        for start, stop in target:
            looked = one.weights[start:stop].mean(axis=0)  # (S,)
            shares = enumerate((float(looked[first:last].sum()) for first, last in source), words_before)
            found.append([[word, round(share, 3)] for word, share in shares if share >= LEAST_SHARE])
        words_before += len(source)
    return found
