"""The constraint that no hypothesis ends before its shortest length, unless nothing else may follow."""

from torch import Tensor

from translator.special_tokens import EOS


class MinimumLength:
    """Forbids EOS as long as a hypothesis would be too short with it.

    Args:
        shortest: (B,) int64, tokens that each output must have, EOS included.
    """

    def __init__(self, shortest: Tensor) -> None:
        self._shortest = shortest

    def apply(self, forbidden: Tensor, prefixes: Tensor, sentences: Tensor) -> None:
        """See `Constraint.apply`."""
        forbidden[:, EOS] |= self._shortest[sentences] > prefixes.size(1) + 1
