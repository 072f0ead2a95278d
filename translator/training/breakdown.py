"""Losses divided by the length of the target and by the source of the corpus.

N sentences, P parts: the length buckets first, then the sources
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from translator.corpus.prepare import PreparedCorpus
from translator.corpus.split import Split

LONGEST: Final = (8, 16, 32, 64)
"""Target tokens, EOS counted, of the longest sentence of each length bucket; one more bucket has all longer ones."""
BUCKETS: Final = ("01-08", "09-16", "17-32", "33-64", "65-up")
"""Names of the buckets, which sort as their lengths do."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Sources:
    """The sources of one split, whose pairs are numbered one source after another."""

    names: tuple[str, ...]
    starts: Numbers
    """Number of the first pair of each source, and at the end the number of all pairs."""

    @classmethod
    def of_split(cls, corpus: PreparedCorpus, split: Split) -> "Sources":
        """Return the sources of `split`, numbered as `translator.data` numbers their pairs."""
        names = corpus.names(split)
        return cls.of_counts({name: corpus.count(split, name) for name in names})

    @classmethod
    def of_counts(cls, pairs: Mapping[str, int]) -> "Sources":
        """Return sources with so many pairs each."""
        return cls(tuple(pairs), np.cumsum([0, *pairs.values()], dtype=np.int64))

    def parts(self, numbers: ArrayLike) -> Numbers:
        """Return the place in `names` of the source of each pair number."""
        places: Numbers = np.searchsorted(self.starts, numbers, side="right").astype(np.int64) - 1
        return places

    def origin(self, number: int) -> tuple[str, int]:
        """Return the name of the source of pair `number`, and its line there, from 1, in the prepared split."""
        part = int(self.parts(number))
        return self.names[part], number - int(self.starts[part]) + 1


@dataclass(frozen=True)
class Means:
    """What sums over parts come to; parts without a token are left out."""

    loss: float
    """Mean negative log-likelihood of a target token, in nats; NaN where there was none."""
    by_length: dict[str, float]
    """The same for each length bucket."""
    by_source: dict[str, float]
    """The same for each source."""
    mixture: dict[str, float]
    """Share of the target tokens that each source had."""


class Breakdown:
    """Divides sums of losses among length buckets and sources."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._parts = len(BUCKETS) + len(sources.names)

    def sums(self, losses: ArrayLike, tokens: ArrayLike, numbers: ArrayLike) -> NDArray[np.float64]:
        """Return (2, P): the summed loss of each part, and its target tokens; such sums may be added up.

        Args:
            losses: (N,) negative log-likelihood of each sentence, in nats.
            tokens: (N,) target tokens of each sentence, EOS counted.
            numbers: (N,) number of each pair in its split.
        """
        counts = np.asarray(tokens, dtype=np.int64)
        values = np.stack([np.asarray(losses, dtype=np.float64), counts.astype(np.float64)])
        by_length = np.searchsorted(LONGEST, counts)
        by_source = len(BUCKETS) + self.sources.parts(numbers)
        result = np.zeros((2, self._parts))
        for row, added in zip(result, values, strict=True):
            np.add.at(row, by_length, added)
            np.add.at(row, by_source, added)
        return result

    def means(self, sums: NDArray[np.float64]) -> Means:
        """Return the means of `sums` (2, P)."""
        losses, tokens = sums
        count = len(BUCKETS)
        all_tokens = float(tokens[:count].sum())
        return Means(
            loss=float(losses[:count].sum()) / all_tokens if all_tokens else float("nan"),
            by_length=_ratios(BUCKETS, losses[:count], tokens[:count]),
            by_source=_ratios(self.sources.names, losses[count:], tokens[count:]),
            mixture={
                name: float(part) / all_tokens
                for name, part in zip(self.sources.names, tokens[count:], strict=True)
                if all_tokens
            },
        )


def _ratios(names: Sequence[str], losses: NDArray[np.float64], tokens: NDArray[np.float64]) -> dict[str, float]:
    """Return loss ÷ tokens by name, where there are tokens."""
    return {
        name: float(loss) / float(count) for name, loss, count in zip(names, losses, tokens, strict=True) if count > 0
    }
