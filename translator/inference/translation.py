"""A translation of a text, with its scores."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from translator.inference.alignment import Alignment, AttentionMap


@dataclass(frozen=True)
class Translation:
    """One translation of a text, with its scores."""

    text: str  # on one line
    score: float  # summed log-probability of its tokens, over all segments
    normalized_score: float  # `score` divided by the length penalty; averaged if there are several segments
    tokens: int  # of the target, EOS included
    pieces: int  # number of source segments; 0 for a source without words
    finished: bool  # False if a segment was cut off at its maximum length
    precision: str = "float32"  # in which the engine computed
    source_tokens: int = 0  # of all segments, without EOS
    confidence: float | None = None  # probability that it is good (see `Confidence`), if its scores are exact
    alignment: Alignment | None = None  # if requested
    attention: tuple[AttentionMap, ...] | None = None  # one map per segment, if requested

    def to_json(self) -> dict[str, Any]:
        """Return the translation for JSON; a score of minus infinity becomes None."""
        # The keys of the JSON Lines format and of the server's answer (docs/translating.md).
        record: dict[str, Any] = {
            "text": self.text,
            "score": finite(round(self.score, 6)),
            "normalized_score": finite(round(self.normalized_score, 6)),
            "tokens": self.tokens,
            "pieces": self.pieces,
            "finished": self.finished,
            "precision": self.precision,
        }
        if self.confidence is not None:
            record["confidence"] = round(self.confidence, 3)
        if self.alignment is not None:
            record["alignment"] = asdict(self.alignment)
        if self.attention is not None:
            record["attention"] = [attention_map.to_json() for attention_map in self.attention]
        return record


def finite(value: float) -> float | None:
    """Return `value`, or None if it is not finite, which JSON cannot represent."""
    return value if math.isfinite(value) else None
