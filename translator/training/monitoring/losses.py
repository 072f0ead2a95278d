"""Losses by source of the corpus.

R rows of a batch, L positions of a row, N sentences, P sources
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from translator.core.batch import Batch
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.selecting.split import Split


class Means(NamedTuple):
    """Mean losses in nats per target token."""

    loss: float  # NaN without tokens
    by_source: dict[str, float]  # without sources that have no tokens


def sum_by_sentence(batch: Batch, values: Tensor) -> NDArray[np.float64]:
    """Return (N,): the sum over each target sentence of `batch` of `values` (R, L), on any device."""
    # The tokens of a sentence are neighbours, and the sentences follow each other in the order of the pairs.
    is_token = (batch.target_sentence > 0).numpy()
    of_tokens = values.cpu().double().numpy()[is_token]  # (target tokens,)
    if len(of_tokens) == 0:
        return np.zeros(0)
    first_tokens = np.cumsum(batch.target_lengths) - batch.target_lengths  # (N,)
    sums: NDArray[np.float64] = np.add.reduceat(of_tokens, first_tokens)
    return sums


class LossesBySource:
    """Adds up the losses of batches by source of a split, whose pairs are numbered source after source."""

    def __init__(self, corpus: PreparedCorpus, split: Split) -> None:
        self.names = tuple(corpus.names(split))
        pair_counts = [corpus.count(split, name) for name in self.names]
        self._starts = np.cumsum([0, *pair_counts])  # number of the first pair of each source, and of all pairs
        self._sums = np.zeros((2, len(self.names)))  # (2, P) loss and target tokens

    def add(self, batch: Batch, token_losses: Tensor) -> None:
        """Add the negative log-likelihoods (R, L) of the tokens of a batch, in nats."""
        losses = sum_by_sentence(batch, token_losses)  # (N,)
        sources = np.searchsorted(self._starts, batch.pairs, side="right") - 1  # (N,) index in `names`
        self._sums[0] += np.bincount(sources, losses, minlength=len(self.names))
        self._sums[1] += np.bincount(sources, batch.target_lengths, minlength=len(self.names))

    def means(self, total: Callable[[Sequence[float]], list[float]] = list) -> Means:
        """Return the means of what was added since the last call.

        `total` returns the sums of numbers over all ranks; by default, this is the only rank.
        """
        # 1. Add up the sums of all ranks; those of this rank start again from zero.
        totals = total(self._sums.ravel().tolist())
        losses, tokens = np.array(totals).reshape(self._sums.shape)  # (P,) each
        self._sums[:] = 0.0
        if not tokens.any():
            return Means(loss=math.nan, by_source={})

        # 2. The mean of each source, and that of all.
        by_source = {}
        for name, loss_sum, token_count in zip(self.names, losses.tolist(), tokens.tolist(), strict=True):
            if token_count > 0:
                by_source[name] = loss_sum / token_count
        mean_of_all = float(losses.sum() / tokens.sum())
        return Means(loss=mean_of_all, by_source=by_source)
