"""MinHash signatures (Broder 1997): a few numbers of a text by which texts that nearly repeat it can be found.

Two texts are compared by the sets of their n-grams: their Jaccard similarity s is the share of the n-grams of either
that both have. In a random order of all n-grams, the first one of both sets is the same with probability s. The key of
a band is made of the first n-grams in `ROWS` orders, and a signature has the keys of `BANDS` bands, so that two texts
share one or more keys with probability 1 - (1 - s ** ROWS) ** BANDS (Leskovec, Rajaraman and Ullman, "Mining of
Massive Datasets", §3.4): 0.994 at s = 0.9, 0.81 at 0.8, 0.035 at 0.5.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.corpus.duplicates.keys import mix
from translator.corpus.duplicates.ngrams import BASE, NGRAM, ngram_hashes

MINIMUM_NGRAMS: Final = 60
"""A text with fewer n-grams has no signature: in a short sentence, one other word makes another sentence."""
ROWS: Final = 8
"""Orders that make up the key of a band."""
BANDS: Final = 9
"""Keys of a signature."""

_BLOCK: Final = 1 << 15
"""Characters that are worked on at a time: few enough to stay in the cache of a core."""

# Multiplied by an odd number, modulo 2 ** 32, all hashes come into another order: one number for each row of each band.
_ORDERS: Final = (mix(np.arange(BANDS * ROWS, dtype=np.uint64), 1) >> np.uint64(32)).astype(np.uint32) | np.uint32(1)


def signatures(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return the keys of the bands of each text; they do not depend on the other texts.

    Args:
        texts: N texts; for a pair, both sides folded, with a mark between them.

    Returns:
        Shape (N, BANDS); 0 throughout for a text of fewer than `MINIMUM_NGRAMS` n-grams, and nowhere else.
    """
    keys = np.zeros((len(texts), BANDS), dtype=np.uint64)
    long = [number for number, text in enumerate(texts) if len(text) >= MINIMUM_NGRAMS + NGRAM - 1]
    if long:
        smallest = np.concatenate([minima(block) for block in _blocks([texts[number] for number in long])], axis=1)
        band_keys = np.zeros((BANDS, len(long)), dtype=np.uint64)
        for row in range(ROWS):
            band_keys = band_keys * BASE + smallest[row::ROWS]
        keys[long] = np.maximum(mix(band_keys, 0), np.uint64(1)).T
    return keys


def _blocks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield `texts` in runs of at most `_BLOCK` characters, and longer texts alone."""
    start = size = 0
    for number, text in enumerate(texts):
        if size and size + len(text) > _BLOCK:
            yield texts[start:number]
            start, size = number, 0
        size += len(text)
    yield texts[start:]


def minima(texts: Sequence[str]) -> NDArray[np.uint32]:
    """Return the first n-gram of each text in each order: shape (BANDS * ROWS, N).

    Two texts have as large a share of these in common, give or take, as of their n-grams.

    Args:
        texts: N texts of `NGRAM` characters or more.
    """
    hashes, starts = ngram_hashes(texts)
    short = (hashes >> np.uint64(32)).astype(np.uint32)
    smallest = np.empty((len(_ORDERS), len(texts)), dtype=np.uint32)
    ordered = np.empty_like(short)
    for order, row in zip(_ORDERS, smallest, strict=True):
        np.multiply(short, order, out=ordered)
        np.minimum.reduceat(ordered, starts, out=row)
    return smallest
