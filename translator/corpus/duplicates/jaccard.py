"""The Jaccard similarity of texts: the share of the n-grams of either that both have."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.corpus.duplicates.ngrams import ngram_hashes

_ROW_BITS: Final = np.uint64(12)
"""Bits that number the comparisons of a block; the others are for the hash, enough that no two n-grams are mistaken."""
_HASH_BITS: Final = np.uint64(52)
_BLOCK: Final = 1 << 15
"""Characters that are compared at a time, at least 5 in a text: few enough to stay in the cache of a core."""


def similarities(pairs: Iterable[tuple[str, str]]) -> list[float]:
    """Return the Jaccard similarity of the two texts of each pair, each of 5 characters or more."""
    found: list[float] = []
    block: list[tuple[str, str]] = []
    size = 0
    for first, second in pairs:
        block.append((first, second))
        size += len(first) + len(second)
        if size >= _BLOCK:
            found += _similarities(block)
            block, size = [], 0
    return found + _similarities(block) if block else found


def _similarities(pairs: Sequence[tuple[str, str]]) -> list[float]:
    first, second = (_members(texts, len(pairs)) for texts in zip(*pairs, strict=True))
    members = np.concatenate([first, second])
    members.sort(kind="stable")  # merges the two
    shared = _sizes(members[1:][members[1:] == members[:-1]], len(pairs))
    either = _sizes(members, len(pairs)) - shared
    similar: list[float] = (shared / either).tolist()
    return similar


def _members(texts: Sequence[str], count: int) -> NDArray[np.uint64]:
    """Return the different n-grams of each text, sorted: number of the text, then hash."""
    hashes, starts = ngram_hashes(texts)
    rows = np.repeat(np.arange(count, dtype=np.uint64), np.diff(starts, append=len(hashes)))
    members = (rows << _HASH_BITS) | (hashes >> _ROW_BITS)
    members.sort()
    different = np.ones(len(members), dtype=np.bool_)
    different[1:] = members[1:] != members[:-1]
    return members[different]


def _sizes(members: NDArray[np.uint64], count: int) -> NDArray[np.int64]:
    return np.bincount((members >> _HASH_BITS).astype(np.int64), minlength=count)
