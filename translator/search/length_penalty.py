"""Length penalties: what the score of a hypothesis is divided by, so that long and short ones can be compared."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, TypeVar

from torch import Tensor

from translator.config import SearchConfig

Numbers = TypeVar("Numbers", float, Tensor)
"""One number, or a tensor of them."""


@dataclass(frozen=True)
class LengthPenalty(ABC):
    """A divisor of scores that never falls as hypotheses grow."""

    alpha: float = 1.0
    """Strength, not negative; 0 compares plain sums, which favours short hypotheses."""

    @staticmethod
    def of(config: SearchConfig) -> "LengthPenalty":
        """Return the penalty that `config` asks for."""
        kinds = {"gnmt": GnmtPenalty, "average": AveragePenalty}
        return kinds[config.length_normalization](config.length_penalty)

    @abstractmethod
    def divisor(self, length: Numbers) -> Numbers:
        """Return what a sum of log-probabilities of `length` tokens, EOS included, is divided by."""

    def normalized(self, score: Numbers, length: Numbers) -> Numbers:
        """Return `score` of `length` tokens, EOS included, over its divisor."""
        return score / self.divisor(length)

    def best_reachable(self, score: Numbers, longest: Numbers) -> Numbers:
        """Return an upper bound on the normalized score of anything that continues a hypothesis.

        Each further token adds a log-probability, at most 0, so `score` (at most 0) can only fall; dividing by the
        largest divisor, that of the longest length, brings a negative number nearest to 0.

        Args:
            score: sum of log-probabilities so far.
            longest: tokens that the hypothesis may grow to, EOS included.
        """
        return self.normalized(score, longest)


class GnmtPenalty(LengthPenalty):
    """The penalty of Wu et al. 2016 §7, equation 14, without its coverage term."""

    def divisor(self, length: Numbers) -> Numbers:
        """Return ((5 + length) / 6) ** alpha.

        >>> GnmtPenalty(alpha=1.0).divisor(7.0)
        2.0
        """
        divisor: Numbers = ((length + 5.0) / 6.0) ** self.alpha
        return divisor


class AveragePenalty(LengthPenalty):
    """With alpha 1, what is compared is the mean log-probability of a token."""

    def divisor(self, length: Numbers) -> Numbers:
        """Return length ** alpha."""
        divisor: Numbers = length**self.alpha
        return divisor


USUAL_PENALTY: Final = GnmtPenalty()
"""The penalty of a recipe that does not name one."""
