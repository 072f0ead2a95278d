"""How often one text may come back: the occurrences of a key that are one too many."""

import numpy as np

from translator.corpus.duplicates.keys import Keys, Mask


def beyond_cap(keys: Keys, cap: int) -> Mask:
    """Say of each key whether the same key stands `cap` times or more before it.

    Args:
        keys: shape (N,).
        cap: how many of a kind may stay, from the first on.

    Returns:
        Shape (N,).
    """
    order = np.argsort(keys, kind="stable")  # equal keys stay in their order
    ordered = keys[order]
    beyond = np.zeros(len(keys), dtype=np.bool_)
    beyond[order[cap:]] = ordered[cap:] == ordered[: max(0, len(keys) - cap)]
    return beyond
