"""Attention maps and word alignments: where the decoder looked, and which words belong together by that.

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

WORD_MARK: Final = "▁"  # what SentencePiece puts before the first piece of a word
LEAST_SHARE: Final = 0.01  # share of a word's attention below which `word_weights` leaves a source word out


class AttentionMap(NamedTuple):
    """Where the decoder looked while it produced each target piece."""

    source: list[str]
    target: list[str]
    weights: npt.NDArray[np.float32]  # (T, S) cross-attention of the last layer, mean of its heads; each row sums to 1

    def to_json(self) -> dict[str, Any]:
        """Return the map for JSON, weights to four places."""
        rows = [[round(float(weight), 4) for weight in row] for row in self.weights]
        return {"source": self.source, "target": self.target, "weights": rows}


@dataclass(frozen=True)
class Alignment:
    """Which words of a translation come from which of its source, by attention."""

    source: tuple[str, ...] = ()  # words, after normalization
    target: tuple[str, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    """Indexes from 0 of a source word and a target word, in the order of the target; one for each target word."""

    @property
    def pharaoh(self) -> str:
        """The pairs as Pharaoh and fast_align write them: `0-0 1-2`."""
        return " ".join(f"{source}-{target}" for source, target in self.pairs)

    def __add__(self, other: "Alignment") -> "Alignment":
        """Return the alignment of a text and of the one that follows it."""
        pairs = tuple((source + len(self.source), target + len(self.target)) for source, target in other.pairs)
        return Alignment(self.source + other.source, self.target + other.target, self.pairs + pairs)


def align_words(
    subword: SubwordPair, source_ids: Sequence[int], target_ids: Sequence[int], weights: npt.NDArray[np.float32]
) -> Alignment:
    """Return for each target word the source word with the most attention, summed over the pieces of both.

    Attention to EOS counts for no word: the ids have none, the (T, S) weights may. Without words there are no pairs.
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
    """Return where each word begins and ends in `pieces`; a word mark that stands alone belongs to what follows it."""
    starts = [
        place
        for place, piece in enumerate(pieces)
        if place == 0 or (piece.startswith(WORD_MARK) and pieces[place - 1] != WORD_MARK)
    ]
    return list(pairwise([*starts, len(pieces)])) if starts else []


def word_weights(maps: Sequence[AttentionMap]) -> list[list[list[float]]]:
    """Return for each target word `[source word, share]` for each source word with at least `LEAST_SHARE` of attention.

    The share of a source word is the sum over its pieces, averaged over the pieces of the target word. EOS is no word.
    The maps are those of a text's segments; words are counted through all of them, from 0.
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
