"""Hypotheses, shared by all engines, and their length penalty. Imports no torch, which is slow to start."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from translator.core import SOS

FIRST_PRODUCED: Final = SOS + 1  # the lowest id that a search produces; PAD, UNK and SOS lie below it

Rows = Sequence[Sequence[int]]
"""The ids of several sentences; unlike a row of a batch, each holds one."""


@dataclass(frozen=True)
class SearchSettings:
    """The width of a beam, and how scores of different lengths are compared."""

    beam_size: int = 5  # W
    length_penalty: float = 1.0  # exponent
    length_normalization: Literal["gnmt", "average"] = "gnmt"


def length_penalty(length: float, settings: SearchSettings) -> float:
    """Return the divisor of the summed log-probability of a hypothesis.

    Without it, a search would favour short hypotheses, because each token adds a log-probability of at most 0.

    Args:
        length: tokens of the hypothesis, EOS included.
        settings: give the exponent (`length_penalty`) and the base (`length_normalization`): (5 + length) / 6 for
            `gnmt` (Wu et al. 2016 §7, equation 14), the length itself for `average`.

    >>> length_penalty(7.0, SearchSettings(length_penalty=1.0))
    2.0
    """
    if settings.length_normalization == "gnmt":
        base = (length + 5.0) / 6.0
    elif settings.length_normalization == "average":
        base = length
    else:
        assert_never(settings.length_normalization)
    penalty: float = base**settings.length_penalty
    return penalty


@dataclass(frozen=True)
class Hypothesis:
    """One translation that a search has found."""

    tokens: tuple[int, ...]  # ids without SOS and EOS
    score: float  # summed log-probability of the tokens, and of EOS if finished
    normalized_score: float  # `score` divided by the length penalty; ranks the hypotheses
    finished: bool  # True if it ended in EOS, False if it was cut off at its maximum length
    token_scores: tuple[float, ...] = ()  # log-probability of each token, and of EOS if finished

    @classmethod
    def from_tokens(
        cls, tokens: Sequence[int], token_scores: Sequence[float], finished: bool, settings: SearchSettings
    ) -> "Hypothesis":
        """Return the hypothesis with these attributes; its scores follow from them, by the penalty of `settings`."""
        length = len(tokens) + finished  # EOS counts
        assert len(token_scores) == length
        score = sum(token_scores)
        return cls(
            tokens=tuple(tokens),
            score=score,
            normalized_score=score / length_penalty(length, settings),
            finished=finished,
            token_scores=tuple(token_scores),
        )
