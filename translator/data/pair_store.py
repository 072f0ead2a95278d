"""The pairs of one split: one token store a side for each source, addressed as one row of pairs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from translator.data.token_store import DamagedStoreError, TokenStore

Ids = NDArray[np.int32]


class Pairs(Protocol):
    """Numbered pairs of ids, with their lengths."""

    @property
    def source_lengths(self) -> NDArray[np.int32]:
        """Tokens of each source sentence, EOS counted."""

    @property
    def target_lengths(self) -> NDArray[np.int32]:
        """Tokens of each target sentence, SOS or EOS counted."""

    def __getitem__(self, number: int) -> tuple[Ids, Ids]:
        """Return the ids of both sides of pair `number`, without special tokens."""


class PairStore:
    """Pairs of several sources one after another, in the order of the sources."""

    def __init__(self, names: Sequence[str], sources: Sequence[TokenStore], targets: Sequence[TokenStore]) -> None:
        """Take each source's name and its two stores, which hold the same number of sentences."""
        self.names = list(names)
        self._sources = list(sources)
        self._targets = list(targets)
        assert all(len(one) == len(other) for one, other in zip(sources, targets, strict=True))
        self.starts: NDArray[np.int64] = np.cumsum([0, *map(len, sources)], dtype=np.int64)
        """Number of the first pair of each source, and at the end the number of all pairs."""
        none = [np.zeros(0, np.int32)]
        self.source_lengths: NDArray[np.int32] = np.concatenate([store.lengths for store in sources] or none)
        """Tokens of each source sentence, EOS counted."""
        self.target_lengths: NDArray[np.int32] = np.concatenate([store.lengths for store in targets] or none)
        """Tokens of each target sentence, SOS or EOS counted."""
        self.source_lengths += 1
        self.target_lengths += 1

    @classmethod
    def open(cls, folder: Path, names: Sequence[str]) -> "PairStore":
        """Open `<folder>/<name>.en` and `.fa` of each source.

        Raises:
            DamagedStoreError: a store is missing or damaged, or the two sides do not fit together.
        """
        sources = [TokenStore.open(folder / f"{name}.en") for name in names]
        targets = [TokenStore.open(folder / f"{name}.fa") for name in names]
        for name, source, target in zip(names, sources, targets, strict=True):
            if len(source) != len(target):
                reason = f"{len(source):,} English and {len(target):,} Persian sentences"
                raise DamagedStoreError(f"the token store {folder / name} is damaged ({reason})")
        return cls(names, sources, targets)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, number: int) -> tuple[Ids, Ids]:
        """Return the ids of both sides of pair `number`, without special tokens."""
        part = self.part(number)
        place = number - int(self.starts[part])
        return self._sources[part][place], self._targets[part][place]

    def part(self, number: int) -> int:
        """Return which source (its place in `names`) pair `number` comes from."""
        if not 0 <= number < len(self):
            raise IndexError(f"pair {number} of {len(self)}")
        return int(np.searchsorted(self.starts, number, side="right")) - 1


class SampledPairs:
    """The pairs of one epoch as they were sampled; where that made a pair over-long, as they are without sampling."""

    def __init__(self, plain: PairStore, sampled: PairStore, limit: int) -> None:
        """Take both stores of the same pairs, and the tokens that a side may have at most, special token counted."""
        assert plain.names == sampled.names and plain.starts.tolist() == sampled.starts.tolist()
        self._plain = plain
        self._sampled = sampled
        self._fits = np.maximum(sampled.source_lengths, sampled.target_lengths) <= limit
        self.source_lengths: NDArray[np.int32] = np.where(self._fits, sampled.source_lengths, plain.source_lengths)
        """Tokens of each source sentence, EOS counted."""
        self.target_lengths: NDArray[np.int32] = np.where(self._fits, sampled.target_lengths, plain.target_lengths)
        """Tokens of each target sentence, SOS or EOS counted."""

    def __getitem__(self, number: int) -> tuple[Ids, Ids]:
        """Return the ids of both sides of pair `number`, without special tokens."""
        return self._sampled[number] if self._fits[number] else self._plain[number]
