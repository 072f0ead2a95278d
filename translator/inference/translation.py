"""A translation of a text, with its scores."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from translator.inference.alignment import Alignment, AttentionMap, align_words


@dataclass(frozen=True)
class Translation:
    """One translation of a text, with its scores."""

    text: str  # on one line; it has no segments if it is copied from a source without words
    score: float = 0.0  # summed log-probability of its tokens, over all segments
    normalized_score: float = 0.0  # `score` divided by the length penalty; averaged if there are several segments
    tokens: int = 0  # of the target, EOS included
    pieces: int = 0  # number of source segments
    finished: bool = True  # False if a segment was cut off at its maximum length
    precision: str = "float32"  # in which the engine computed
    source_tokens: int = 0  # of all segments, without EOS
    confidence: float | None = None  # probability that it is good (see `Confidence`), if its scores are exact
    attention: tuple[AttentionMap, ...] | None = None  # one map per segment, if requested

    @cached_property
    def alignment(self) -> Alignment | None:
        """The word alignment, if attention was requested."""
        return None if self.attention is None else align_words(self.attention)

    def to_json(self) -> dict[str, Any]:
        """Return the translation for JSON; a score of minus infinity becomes None."""
        # The keys of the JSON Lines format and of the server's answer (docs/translating.md).
        record: dict[str, Any] = {
            "text": self.text,
            "score": _finite(round(self.score, 6)),
            "normalized_score": _finite(round(self.normalized_score, 6)),
            "tokens": self.tokens,
            "pieces": self.pieces,
            "finished": self.finished,
            "precision": self.precision,
        }
        if self.confidence is not None:
            record["confidence"] = round(self.confidence, 3)
        if self.attention is not None and self.alignment is not None:
            source, target, pairs, _ = self.alignment  # without the shares
            record["alignment"] = {"source": source, "target": target, "pairs": pairs}
            record["attention"] = [attention_map.to_json() for attention_map in self.attention]
        return record


def _finite(value: float) -> float | None:
    """Return `value`, or None if it is not finite, which JSON cannot represent."""
    return value if math.isfinite(value) else None
