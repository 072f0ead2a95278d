"""What a search returns."""

from collections.abc import Sequence
from dataclasses import dataclass

from translator.search.length_penalty import LengthPenalty


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
    token_scores: tuple[float, ...] = ()
    """Log-probability of each token, and of EOS where it came; empty where an engine does not tell."""

    @classmethod
    def from_tokens(
        cls, tokens: Sequence[int], token_scores: Sequence[float], finished: bool, penalty: LengthPenalty
    ) -> "Hypothesis":
        """Return the hypothesis of `tokens` (no SOS, no EOS), each with its log-probability, EOS's last if finished."""
        length = len(tokens) + finished  # EOS is a token that the model chose, too
        assert len(token_scores) == length
        score = sum(token_scores)
        return cls(tuple(tokens), score, penalty.normalized(score, length), finished, tuple(token_scores))
