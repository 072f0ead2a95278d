"""Leaks: pairs of one split that share a side with a pair of another split, or of a test set."""

from collections.abc import Sequence

import numpy as np

from translator.corpus.selecting.duplicates import Keys
from translator.corpus.selecting.split import Fates, fate_of


def drop_leaks(fates: Fates, keys: Keys, *, split: int, held_out: Sequence[int]) -> None:
    """Drop the pairs of `split` that share a side with a pair of the splits `held_out`.

    Args:
        fates: (N,) changed in place.
        keys: (N, 2)
        split: a position in `SPLITS`.
        held_out: positions in `SPLITS`.
    """
    is_in_split = fates == split
    forbidden = keys[np.isin(fates, held_out)]
    has_forbidden_source = np.isin(keys[:, 0], forbidden[:, 0])
    has_forbidden_target = np.isin(keys[:, 1], forbidden[:, 1])
    fates[is_in_split & has_forbidden_target] = fate_of("target_held_out")
    fates[is_in_split & has_forbidden_source] = fate_of("source_held_out")  # also for a pair whose sides both leak
