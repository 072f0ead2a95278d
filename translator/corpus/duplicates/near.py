"""Near-duplicates: pairs that share nearly all their n-grams with an earlier one, found at linear cost."""

import functools
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.corpus.duplicates.jaccard import similarities
from translator.corpus.duplicates.minhash import BANDS

Numbers = NDArray[np.int64]

_BATCH: Final = 1 << 10
"""Comparisons that are made at a time."""
_REMEMBERED: Final = 256
"""Texts kept for the next comparison."""


def near_duplicates(
    bands: NDArray[np.uint64], candidates: Numbers, threshold: float, text_of: Callable[[int], str]
) -> Numbers:
    """Return of each pair the number of the surviving pair that it nearly repeats, or -1.

    Of the pairs that share the key of a band, each is compared with the first and with the one just before it, or with
    those that survived for them: so the cost is linear, however many share a key. Only a pair whose true Jaccard
    similarity is `threshold` or more is dropped; a few such pairs may go unnoticed.

    Args:
        bands: (N, BANDS) `signatures` of all pairs; may be a memory map, and is read one band after another.
        candidates: numbers of the pairs that take part; of two that are alike, the earlier in here survives.
        threshold: smallest Jaccard similarity of near-duplicates.
        text_of: returns the text of a pair, as it was given to `signatures`.

    Returns:
        Shape (N,); -1 also for pairs that take no part.
    """
    recall = functools.lru_cache(_REMEMBERED)(text_of)
    survivors = np.full(len(bands), -1, dtype=np.int64)

    def surviving(number: int) -> int:
        survivor = int(survivors[number])
        return number if survivor < 0 else survivor

    for batch in _comparisons(bands, candidates):
        # Most pairs of a batch need to know nothing of the others in it, so all are compared at once, and those whose
        # earlier pair is found to have been dropped are compared again, with its survivor.
        wanted = list(dict.fromkeys((later, surviving(earlier)) for later, earlier in batch))
        known = dict(zip(wanted, similarities((recall(one), recall(other)) for one, other in wanted), strict=True))
        for later, earlier in batch:
            if survivors[later] >= 0:
                continue
            pair = later, surviving(earlier)
            if pair not in known:
                known[pair] = similarities([(recall(pair[0]), recall(pair[1]))])[0]
            if known[pair] >= threshold:
                survivors[later] = pair[1]
    return survivors


def _comparisons(bands: NDArray[np.uint64], candidates: Numbers) -> Iterator[list[tuple[int, int]]]:
    """Yield the comparisons to make, in batches: the later pair and the earlier one, in the order of `candidates`."""
    count = len(candidates)
    places = np.empty(0, dtype=np.int64)  # of the later one, times count, plus that of the earlier one
    for band in range(BANDS):
        later, first, before = _sharing(bands[candidates, band])
        places = np.unique(np.concatenate([places, later * count + first, later * count + before]))
    for start in range(0, len(places), _BATCH):
        later, earlier = np.divmod(places[start : start + _BATCH], count)
        yield list(zip(candidates[later].tolist(), candidates[earlier].tolist(), strict=True))


def _sharing(keys: NDArray[np.uint64]) -> tuple[Numbers, Numbers, Numbers]:
    """Return the places whose key stands earlier too (but 0), and of each the first and the last place before it."""
    order = np.flatnonzero(keys)
    order = order[np.argsort(keys[order], kind="stable")]  # equal keys stay in their order
    ordered = keys[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    begins = np.ones(len(again), dtype=np.bool_)  # a run of equal keys is one of neighbouring numbers in `again`
    begins[1:] = np.diff(again) > 1
    first = again[begins][np.cumsum(begins) - 1] - 1
    return order[again], order[first], order[again - 1]
