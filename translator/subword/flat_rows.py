"""The ids of many sentences as two arrays."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


class FlatRows(NamedTuple):
    """The ids of N sentences, one after the other, without special tokens."""

    ids: Ids  # (T,)
    lengths: NDArray[np.int64]  # (N,)

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "FlatRows":
        """Return `rows` of ids, one after the other."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        ids = np.fromiter(itertools.chain.from_iterable(rows), np.int32, int(lengths.sum()))
        return cls(ids=ids, lengths=lengths)
