"""One translation of one text, and how those of its pieces become it."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from translator.inference.attention import Alignment, AttentionMap
from translator.search import Hypothesis


@dataclass(frozen=True)
class Translation:
    """One translation of a text, with what the model thinks of it."""

    text: str
    """On one line."""
    score: float
    """Sum of the log-probabilities of its tokens; of a text in pieces, of all their tokens."""
    normalized_score: float
    """`score` over the length penalty; of a text in pieces, the mean of theirs."""
    tokens: int
    """Target tokens, EOS included."""
    pieces: int
    """How many parts the source was cut into; 0 for an empty one."""
    finished: bool
    """False where it, or one of its pieces, was stopped at its longest length, or would have been by a search."""
    alignment: Alignment | None = None
    """Which words belong together, where it was asked for."""
    attention: tuple[AttentionMap, ...] | None = None
    """Where the model looked, a map for each piece, where it was asked for."""

    @classmethod
    def of(cls, text: str, hypothesis: Hypothesis) -> "Translation":
        """Return the translation of a text that was translated whole, or of one piece."""
        length = len(hypothesis.tokens) + hypothesis.finished
        return cls(text, hypothesis.score, hypothesis.normalized_score, length, 1, hypothesis.finished)

    def to_json(self) -> dict[str, Any]:
        """Return the translation for JSON; a score of minus infinity becomes None."""
        record: dict[str, Any] = {
            "text": self.text,
            "score": finite(round(self.score, 6)),
            "normalized_score": finite(round(self.normalized_score, 6)),
            "tokens": self.tokens,
            "pieces": self.pieces,
            "finished": self.finished,
        }
        if self.alignment is not None:
            record["alignment"] = self.alignment.to_json()
        if self.attention is not None:
            record["attention"] = [one.to_json() for one in self.attention]
        return record


EMPTY = Translation("", 0.0, 0.0, 0, 0, True)
"""Of a text without a word."""


def finite(value: float) -> float | None:
    """Return `value`, or None where it is no finite number: JSON has no other."""
    return value if math.isfinite(value) else None


def join_pieces(pieces: Sequence[Sequence[Translation]], count: int, *, ranked: bool) -> list[Translation]:
    """Return up to `count` translations of a text from those of its pieces.

    Ranked ones are the combinations whose pieces have the highest mean normalized score, best first; the first is made
    of the best of each piece. Draws are joined in turn: the first of each piece, the second of each, and so on.

    Args:
        pieces: for each piece of the text its translations; at least one.
        count: how many are wanted.
        ranked: whether a piece's translations are its best, not draws.
    """
    if len(pieces) == 1:
        return list(pieces[0][:count])
    if ranked:
        chosen = _best_combinations(pieces, count)
    else:
        chosen = [[place] * len(pieces) for place in range(min(count, *map(len, pieces)))]
    return [_join([piece[place] for piece, place in zip(pieces, places, strict=True)]) for places in chosen]


def _best_combinations(pieces: Sequence[Sequence[Translation]], count: int) -> list[list[int]]:
    """Return for each combination the place of what it takes of each piece."""
    best: list[tuple[float, tuple[Any, ...]]] = [(0.0, ())]  # totals, and chains of places from the last to the first
    for piece in pieces:
        totals = (
            (total + translation.normalized_score, (place, chain))
            for total, chain in best
            for place, translation in enumerate(piece)
        )
        best = heapq.nlargest(count, totals, key=lambda entry: entry[0])
    found = []
    for _, chain in best:
        places: list[int] = []
        while chain:
            place, chain = chain
            places.append(place)
        found.append(places[::-1])
    return found


def _join(parts: Sequence[Translation]) -> Translation:
    alignments = [part.alignment for part in parts if part.alignment is not None]
    maps = [attention for part in parts for attention in part.attention or ()]
    return Translation(
        " ".join(part.text for part in parts if part.text),
        sum(part.score for part in parts),
        sum(part.normalized_score for part in parts) / len(parts),
        sum(part.tokens for part in parts),
        sum(part.pieces for part in parts),
        all(part.finished for part in parts),
        Alignment.joined(alignments) if alignments else None,
        tuple(maps) if maps else None,
    )
