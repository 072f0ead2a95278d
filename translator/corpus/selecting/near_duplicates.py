"""Detection of near-duplicates at linear cost, by MinHash signatures.

Texts are compared by the sets of their character n-grams. The Jaccard similarity s is the share of n-grams of either
text that both have. Candidates come from MinHash signatures (Broder 1997): in a random order of all n-grams, the first
n-gram of both sets is the same with probability s. The key of a band combines the first n-grams in `ROWS` orders; a
signature has `BANDS` keys. Two texts share a key with probability 1 - (1 - s ** ROWS) ** BANDS: 0.994 at s = 0.9, 0.81
at 0.8, 0.035 at 0.5 (Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", §3.4).
"""

import functools
import itertools
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from translator.corpus.selecting.duplicates import Hashes, Numbers, scrambled

NGRAM: Final = 5  # characters (code points)
MINIMUM_NGRAMS: Final = 60  # shorter texts get no signature, since one changed word can make a new sentence
ROWS: Final = 8  # orders in the key of a band
BANDS: Final = 9  # keys of a signature
_BASE: Final = np.uint64(0x9FB21C651E98DF25)  # an n-gram is a number in this base, modulo 2 ** 64
_BLOCK: Final = 200  # texts per block, so that the n-grams of a block fit into the cache of a core
# Multiplication by an odd number modulo 2 ** 32 permutes the hashes: one number for each row and band.
_ORDERS: Final = (scrambled(np.arange(BANDS * ROWS, dtype=np.uint64), seed=1) >> np.uint64(32)).astype(
    np.uint32
) | np.uint32(1)
_CACHED_TEXTS: Final = 256

# --- signatures ---


def signatures(texts: Sequence[str]) -> Hashes:
    """Return the band keys (N, BANDS) of N folded texts; 0 for one of fewer than `MINIMUM_NGRAMS` n-grams."""
    keys = np.zeros((len(texts), BANDS), dtype=np.uint64)
    shortest = MINIMUM_NGRAMS + NGRAM - 1
    numbers_of_long_texts = [number for number, text in enumerate(texts) if len(text) >= shortest]
    if not numbers_of_long_texts:
        return keys

    # 1. The first n-gram of each text in each of the random orders of all n-grams.
    minima_of_blocks = []
    for start in range(0, len(numbers_of_long_texts), _BLOCK):
        block = numbers_of_long_texts[start : start + _BLOCK]
        minima_of_blocks.append(_minima([texts[number] for number in block]))
    minima = np.concatenate(minima_of_blocks, axis=1)  # (BANDS * ROWS, long texts)

    # 2. The key of a band: its ROWS minima as one scrambled number, but never 0, which means no signature.
    band_keys = np.zeros((BANDS, len(numbers_of_long_texts)), dtype=np.uint64)
    for row in range(ROWS):
        minima_of_row = minima[row::ROWS]  # (BANDS, long texts): number `row` of the ROWS minima of each band
        band_keys = band_keys * _BASE + minima_of_row
    keys[numbers_of_long_texts] = np.maximum(scrambled(band_keys, seed=0), np.uint64(1)).T
    return keys


def _minima(texts: Sequence[str]) -> NDArray[np.uint32]:
    """Return the first n-gram of each of N texts in each order: shape (BANDS * ROWS, N)."""
    # 1. Every n-gram of the joined texts as a number.
    characters = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    count = len(characters) - NGRAM + 1
    ngrams = characters[:count]
    for offset in range(1, NGRAM):
        ngrams = ngrams * _BASE + characters[offset : offset + count]

    # 2. Leave out the n-grams that reach into the next text: the last NGRAM - 1 of each text but the last.
    ends = np.fromiter(itertools.accumulate(map(len, texts)), dtype=np.int64, count=len(texts))
    is_inside = np.ones(count, dtype=np.bool_)
    for overhang in range(1, NGRAM):
        is_inside[ends[:-1] - overhang] = False
    starts = np.zeros(len(texts), dtype=np.int64)  # of each text among the remaining n-grams
    starts[1:] = ends[:-1] - (NGRAM - 1) * np.arange(1, len(texts))

    # 3. The first n-gram of a text in an order has the smallest product, modulo 2 ** 32, of its hash and the number of
    # the order. The array of products is the largest one here, so it is reused.
    hashes = (scrambled(ngrams[is_inside], seed=0) >> np.uint64(32)).astype(np.uint32)
    smallest = np.empty((len(_ORDERS), len(texts)), dtype=np.uint32)
    products = np.empty_like(hashes)
    for order, row in zip(_ORDERS, smallest, strict=True):
        np.multiply(hashes, order, out=products)
        np.minimum.reduceat(products, starts, out=row)
    return smallest


# --- the search ---


class NearDuplicateIndex:
    """Folded pairs, numbered from 0 as added, and their signatures, in two files; 8 bytes of memory per pair."""

    def __init__(self, folder: Path) -> None:
        """Open the two files in an empty folder."""
        self._ends = array("q", [0])
        self._texts = (folder / "texts").open("w+b")
        self._bands = (folder / "bands").open("w+b")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._texts, self._bands:  # closes both, also if one fails on a full disk
            pass

    def add(self, texts: Sequence[str], bands: Hashes) -> None:
        """Append N texts with their `signatures` (N, BANDS), before the first search."""
        self._bands.write(bands.tobytes())
        encoded = [text.encode() for text in texts]
        self._texts.write(b"".join(encoded))
        for text in encoded:
            self._ends.append(self._ends[-1] + len(text))

    def find(self, candidates: Numbers, threshold: float) -> Numbers:
        """Return, for each of all N pairs, the number of the surviving pair that it nearly repeats, or -1.

        In each band, a pair is compared with the first and the last of the earlier pairs that have its key, or with
        the survivors of those. So the cost is linear however many pairs share a key. Only a pair whose true Jaccard
        similarity is `threshold` or more is dropped; a few such pairs are not found.

        Args:
            candidates: numbers of the pairs to compare; of two similar pairs, the earlier one in this list survives. A
                place is an index in this list.
            threshold: smallest Jaccard similarity of near-duplicates.
        """
        pair_count = len(self._ends) - 1
        survivors = np.full(pair_count, -1, dtype=np.int64)  # for each dropped pair, the one that it repeats
        if len(candidates) == 0:  # an empty file has no memory map
            return survivors
        self._bands.flush()
        bands = np.memmap(self._bands, dtype=np.uint64, mode="r", shape=(pair_count, BANDS))

        # 1. Which pairs to compare, by all bands. A comparison of two places in `candidates` is one integer: the later
        # place times `count`, plus the earlier one. So `np.unique` sorts by the later place and removes repetitions.
        count = len(candidates)  # not of all pairs
        comparisons = np.empty(0, dtype=np.int64)
        for band in range(BANDS):
            later_places, earlier_places = _places_with_equal_keys(bands[candidates, band])
            comparisons = np.unique(np.concatenate([comparisons, later_places * count + earlier_places]))

        # 2. Compare the texts in the order of `candidates`. If the earlier pair is dropped already, the survivor that
        # it repeats takes its place.
        ngrams = functools.lru_cache(_CACHED_TEXTS)(self._ngrams)
        for comparison in comparisons:
            later_place, earlier_place = divmod(int(comparison), count)
            later, earlier = int(candidates[later_place]), int(candidates[earlier_place])
            if survivors[later] >= 0:  # the later pair is dropped already
                continue
            survivor = earlier if survivors[earlier] < 0 else int(survivors[earlier])
            later_ngrams, survivor_ngrams = ngrams(later), ngrams(survivor)
            shared = len(later_ngrams & survivor_ngrams)
            similarity = shared / (len(later_ngrams) + len(survivor_ngrams) - shared)
            if similarity >= threshold:
                survivors[later] = survivor
        return survivors

    def _ngrams(self, number: int) -> set[str]:
        """Return the set of n-grams of the folded text of a pair, read from the file."""
        start, end = self._ends[number], self._ends[number + 1]
        self._texts.seek(start)
        text = self._texts.read(end - start).decode()
        return {text[start : start + NGRAM] for start in range(len(text) - NGRAM + 1)}


def _places_with_equal_keys(keys: Hashes) -> tuple[Numbers, Numbers]:
    """Return which places in `keys` (N,) are to be compared with which earlier ones of the same key: (M,) each.

    A place is compared with the first and the last of the earlier places that have its key, not with all of them. The
    key 0 means none.
    """
    # 1. The places in the order of their keys; equal keys are neighbours, and keep their order.
    order = np.flatnonzero(keys)
    order = order[np.argsort(keys[order], kind="stable")]
    ordered_keys = keys[order]

    # 2. In this order, equal keys form a run: where a key equals the one before it (`repeated`), and where the run of
    # each key begins (`run_starts`).
    repeated = np.flatnonzero(ordered_keys[1:] == ordered_keys[:-1]) + 1
    run_starts = np.arange(len(order))
    run_starts[repeated] = 0
    run_starts = np.maximum.accumulate(run_starts)  # carries each start on through its run

    # 3. Each repeated place twice: with the first place of its run, and with the one before it.
    first_places = order[run_starts[repeated]]
    last_places = order[repeated - 1]
    return np.tile(order[repeated], 2), np.concatenate([first_places, last_places])
