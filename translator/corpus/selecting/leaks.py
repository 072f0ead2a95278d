"""Leaks: pairs of one split whose text is in another, or in a test set."""

from collections.abc import Callable, Sequence

import numpy as np

from translator.corpus.selecting.duplicates import Keys, Mask, Numbers
from translator.corpus.selecting.split import Fates, fate_of

FindNearDuplicates = Callable[[Numbers, float], Numbers]
"""Takes pair numbers and a threshold; returns, per pair, the one it nearly repeats, or -1 (`NearDuplicateIndex`)."""


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


def near_test_sets(is_kept: Mask, is_test_set: Mask, near_duplicates: FindNearDuplicates, threshold: float) -> Mask:
    """Return which of the pairs `is_kept` are near-duplicates of a pair of a named test set; all masks are (N,)."""
    # The test sets come first, so that their pairs survive.
    numbers = np.concatenate([np.flatnonzero(is_test_set), np.flatnonzero(is_kept)])
    originals = near_duplicates(numbers, threshold)
    return is_kept & (originals >= 0) & is_test_set[originals]
