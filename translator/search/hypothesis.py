"""What a search returns, and how hypotheses of different lengths are compared."""

from collections.abc import Sequence
from dataclasses import dataclass

from translator.search.length_penalty import length_penalty


@dataclass(frozen=True)
class Hypothesis:
    """One translation that a search has found."""

    tokens: tuple[int, ...]
    """Ids without SOS and EOS."""
    score: float
    """Sum of the log-probabilities of the tokens, and of EOS where it came."""
    normalized_score: float
    """`score` over the length penalty; what hypotheses are compared by."""
    finished: bool
    """True when it ended in EOS, False when it was stopped at its longest length."""

    @classmethod
    def from_tokens(cls, tokens: Sequence[int], score: float, finished: bool, alpha: float) -> "Hypothesis":
        """Return the hypothesis of `tokens` (no SOS, no EOS) with the sum of log-probabilities `score`."""
        length = len(tokens) + finished  # EOS is a token that the model chose, too
        return cls(tuple(tokens), score, score / length_penalty(length, alpha), finished)
