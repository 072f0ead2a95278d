"""The constraint that no sequence of n tokens comes twice (Paulus et al. 2018 §2.5 forbids trigrams so)."""

from torch import Tensor


class NoRepeatNgram:
    """Forbids tokens that would complete an n-gram which the hypothesis has already; EOS never does.

    Args:
        size: n, at least 1.
    """

    def __init__(self, size: int) -> None:
        self._size = size

    def apply(self, forbidden: Tensor, prefixes: Tensor, sentences: Tensor) -> None:
        """See `Constraint.apply`."""
        length = prefixes.size(1)  # T
        if length < self._size:
            return
        ngrams = prefixes.unfold(1, self._size, 1)  # (R, T - n + 1, n)
        begun = prefixes[:, length - self._size + 1 :].unsqueeze(1)  # (R, 1, n - 1)
        rows, places = (ngrams[:, :, :-1] == begun).all(dim=2).nonzero(as_tuple=True)
        forbidden[rows, ngrams[rows, places, -1]] = True
