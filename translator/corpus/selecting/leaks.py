"""Leaks: pairs of a split that share a side with held-out text, which would make its scores too good."""

from collections.abc import Sequence

import numpy as np

from translator.corpus.selecting.duplicates import Keys
from translator.corpus.selecting.split import Fates, fate_of


def drop_leaks(fates: Fates, keys: Keys, split: int, held_out: Sequence[int]) -> None:
    """Drop the pairs of `split` that share a side with a pair of the splits `held_out`; `fates` is changed in place.

    Args:
        fates: (N,) what becomes of each pair.
        keys: (N, 2) the keys of both sides of each pair; equal texts have equal keys.
        split: the fate of the pairs that may be dropped.
        held_out: the fates of the pairs that they must not share a side with.
    """
    is_in_split = fates == split
    held_out_keys = keys[np.isin(fates, held_out)]
    # The source comes last: for a pair whose sides both leak, its rule replaces that of the target.
    for side, rule in ((1, "target_held_out"), (0, "source_held_out")):
        fates[is_in_split & np.isin(keys[:, side], held_out_keys[:, side])] = fate_of(rule)
