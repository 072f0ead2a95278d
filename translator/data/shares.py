"""Which part of a step each process computes: all its rows in a line, cut into parts of about equal cost.

A batch is cut only where a border falls. A step is the same batches on any number of processes. Everybody knows the
lengths of all its pairs, so everybody works out every share without asking, and reads only the rows of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from translator.data.batching import Numbers
from translator.data.pair_store import Pairs

_TARGET_WEIGHT: Final = 2
"""What a target token costs beside a source token, about: cross-attention and the output come on top."""


@dataclass(frozen=True)
class Rows:
    """Pairs that are to be collated together, not read yet."""

    pairs: Pairs
    numbers: Numbers
    """(B,) which of them; at least one."""

    @property
    def source_tokens(self) -> int:
        """Tokens of the source side, EOS counted."""
        return int(self.pairs.source_lengths[self.numbers].sum())

    @property
    def target_tokens(self) -> int:
        """Tokens of the target side, EOS counted."""
        return int(self.pairs.target_lengths[self.numbers].sum())

    @property
    def positions(self) -> int:
        """Positions of both sides once they are collated, padding included."""
        longest = self.pairs.source_lengths[self.numbers].max() + self.pairs.target_lengths[self.numbers].max()
        return len(self.numbers) * int(longest)


def share_step(batches: Sequence[Rows], world: int) -> list[list[Rows]]:
    """Return what each of `world` processes computes of a step: together the rows of `batches`, each once.

    A process computes neighbouring rows, in one piece of each batch that it has rows of; a batch that is not cut is
    passed on as it is. Neighbours are alike in length, so the pieces of a batch have no more padding than the batch.
    Where rows are few, or one is long, some processes get nothing.
    """
    costs = [_costs(batch) for batch in batches]
    line = np.concatenate(costs)
    middles = 2 * np.cumsum(line) - line  # everything doubled, and in whole numbers: every machine cuts at the same row
    owners = middles * world // (2 * int(line.sum()))
    shares: list[list[Rows]] = [[] for _ in range(world)]
    ends = np.cumsum([len(one) for one in costs])
    for batch, owner in zip(batches, np.split(owners, ends[:-1]), strict=True):
        cuts = np.flatnonzero(np.diff(owner)) + 1
        pieces = [Rows(batch.pairs, numbers) for numbers in np.split(batch.numbers, cuts)] if len(cuts) else [batch]
        for piece, rank in zip(pieces, owner[[0, *cuts]], strict=True):
            shares[rank].append(piece)
    return shares


def _costs(batch: Rows) -> Numbers:
    """Return (B,) about how much work each row is, in source tokens."""
    source = batch.pairs.source_lengths[batch.numbers].astype(np.int64)
    return source + _TARGET_WEIGHT * batch.pairs.target_lengths[batch.numbers].astype(np.int64)
