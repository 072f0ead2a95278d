"""Losses by length of the target sentence and by source of the corpus.

N sentences, P parts: first the length buckets, then the sources of the corpus
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.split import Split
from translator.data.batch import Numbers

LONGEST: Final = (8, 16, 32, 64)  # upper bounds of length buckets, target tokens with EOS; the last is open
BUCKETS: Final = ("01-08", "09-16", "17-32", "33-64", "65-up")


class Means(NamedTuple):
    """Mean losses in nats per target token; parts without tokens are omitted."""

    loss: float  # NaN without tokens
    by_length: dict[str, float]
    by_source: dict[str, float]
    mixture: dict[str, float]  # each source's share of the target tokens


class Breakdown:
    """Breaks losses down by length bucket and by source of a split; pairs are numbered source after source."""

    def __init__(self, pair_counts: Mapping[str, int]) -> None:
        """Take the number of pairs of each source, in the order of the numbering."""
        self.names = tuple(pair_counts)
        self.starts: Numbers = np.cumsum([0, *pair_counts.values()], dtype=np.int64)
        """Number of the first pair of each source; the last entry is the number of all pairs."""

    @classmethod
    def of_split(cls, corpus: PreparedCorpus, split: Split) -> "Breakdown":
        """Return the breakdown of `split`, numbered as `translator.data` numbers its pairs."""
        return cls({name: corpus.count(split, name) for name in corpus.names(split)})

    def sources(self, pairs: ArrayLike) -> Numbers:
        """Return (N,): the index in `names` of the source of each pair, for pair numbers (N,)."""
        return np.searchsorted(self.starts, pairs, side="right").astype(np.int64) - 1

    def empty_sums(self) -> NDArray[np.float64]:
        """Return the sums (2, P) over no sentence."""
        return np.zeros((2, len(BUCKETS) + len(self.names)))

    def sums(self, losses: ArrayLike, tokens: ArrayLike, pairs: ArrayLike) -> NDArray[np.float64]:
        """Return (2, P): the summed loss and the target tokens of each part; these sums are additive.

        Args:
            losses: (N,) negative log-likelihoods of sentences, in nats.
            tokens: (N,) their target tokens, EOS included.
            pairs: (N,) their pair numbers in the split.
        """
        sums = self.empty_sums()
        part_count = sums.shape[1]
        # Each sentence counts twice: in its length bucket, and in its source.
        length_parts = np.searchsorted(LONGEST, tokens)
        source_parts = len(BUCKETS) + self.sources(pairs)
        for parts in (length_parts, source_parts):
            sums[0] += np.bincount(parts, losses, minlength=part_count)
            sums[1] += np.bincount(parts, tokens, minlength=part_count)
        return sums

    def means(self, sums: NDArray[np.float64]) -> Means:
        """Return the means of `sums` (2, P)."""
        # Row 0 of `sums` holds losses in nats, row 1 target tokens; the length buckets come before the sources.
        length_losses, source_losses = np.split(sums[0], [len(BUCKETS)])
        length_tokens, source_tokens = np.split(sums[1], [len(BUCKETS)])
        total_tokens = float(length_tokens.sum())
        if total_tokens == 0:
            return Means(loss=math.nan, by_length={}, by_source={}, mixture={})
        shares = (source_tokens / total_tokens).tolist()
        return Means(
            loss=float(length_losses.sum()) / total_tokens,
            by_length=_mean_by_name(BUCKETS, length_losses, length_tokens),
            by_source=_mean_by_name(self.names, source_losses, source_tokens),
            mixture=dict(zip(self.names, shares, strict=True)),
        )


def _mean_by_name(
    names: Sequence[str], loss_sums: NDArray[np.float64], token_counts: NDArray[np.float64]
) -> dict[str, float]:
    """Return the mean loss per token of each name that has tokens."""
    means = {}
    for name, loss_sum, token_count in zip(names, loss_sums, token_counts, strict=True):
        if token_count > 0:
            means[name] = float(loss_sum / token_count)
    return means
