"""Losses by source of the corpus.

N sentences, P sources
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from translator.core.batch import Numbers
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.split import Split


class Means(NamedTuple):
    """Mean losses in nats per target token."""

    loss: float  # NaN without tokens
    by_source: dict[str, float]  # without sources that have no tokens


class LossesBySource:
    """Adds up losses by source of a split, whose pairs are numbered source after source."""

    def __init__(self, pair_counts: Mapping[str, int]) -> None:
        """Take the number of pairs of each source, in the order of the numbering."""
        self.names = tuple(pair_counts)
        self.starts: Numbers = np.cumsum([0, *pair_counts.values()], dtype=np.int64)
        """Number of the first pair of each source; the last entry is the number of all pairs."""

    @classmethod
    def of_split(cls, corpus: PreparedCorpus, split: Split) -> "LossesBySource":
        """Return the losses of `split`, numbered as `translator.data` numbers its pairs."""
        return cls({name: corpus.count(split, name) for name in corpus.names(split)})

    def sums(self, losses: ArrayLike, tokens: ArrayLike, pairs: ArrayLike) -> NDArray[np.float64]:
        """Return (2, P): the summed loss and the target tokens of each source; these sums are additive.

        Args:
            losses: (N,) negative log-likelihoods of sentences, in nats.
            tokens: (N,) their target tokens, EOS included.
            pairs: (N,) their pair numbers in the split.
        """
        sources = np.searchsorted(self.starts, pairs, side="right") - 1  # (N,) index in `names`
        count = len(self.names)
        return np.stack(
            [
                np.bincount(sources, losses, minlength=count),
                np.bincount(sources, tokens, minlength=count),
            ]
        )

    def means(self, sums: NDArray[np.float64]) -> Means:
        """Return the means of `sums` (2, P)."""
        losses, tokens = sums
        total_tokens = float(tokens.sum())
        if total_tokens == 0:
            return Means(loss=math.nan, by_source={})
        by_source = {}
        for name, loss_sum, token_count in zip(self.names, losses.tolist(), tokens.tolist(), strict=True):
            if token_count > 0:
                by_source[name] = loss_sum / token_count
        return Means(loss=float(losses.sum()) / total_tokens, by_source=by_source)
