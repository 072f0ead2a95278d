"""Which part of a step each process computes: whole batches in turn, and what is left over cut by rows.

A step is the same batches on any number of processes. Everybody knows the lengths of all its pairs, so everybody works
out every share without asking, and reads only the rows of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from translator.data.batching import Numbers
from translator.data.pair_store import Pairs


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

    As many batches as can be dealt out evenly go round whole; each of the others is cut into one piece a process. A
    batch of few rows gives some processes nothing.
    """
    whole = len(batches) // world * world
    shares = [list(batches[rank:whole:world]) for rank in range(world)]
    for batch in batches[whole:]:
        for share, piece in zip(shares, _pieces(batch, world), strict=True):
            if len(piece.numbers):
                share.append(piece)
    return shares


def _pieces(batch: Rows, count: int) -> list[Rows]:
    """Cut a batch into `count` runs of neighbouring rows with about as many tokens each, both sides counted.

    Neighbours are alike in length, so the pieces together have no more padding than the batch had.
    """
    tokens = batch.pairs.source_lengths[batch.numbers].astype(np.int64) + batch.pairs.target_lengths[batch.numbers]
    before = np.concatenate(([0], np.cumsum(tokens)))  # tokens before each place where it can be cut
    wanted = np.arange(1, count) * before[-1]
    # In whole numbers (everything times `count`), so that every machine cuts at the same row.
    after = np.clip(np.searchsorted(before * count, wanted), 1, len(tokens))
    nearer_before = wanted - before[after - 1] * count < before[after] * count - wanted
    cuts = np.where(nearer_before, after - 1, after)
    return [Rows(batch.pairs, numbers) for numbers in np.split(batch.numbers, cuts)]
