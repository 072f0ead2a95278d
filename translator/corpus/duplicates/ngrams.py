"""The n-grams of texts as hashes, for many texts at once."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.corpus.duplicates.keys import mix

NGRAM: Final = 5
"""Characters (code points) of an n-gram."""

BASE: Final = np.uint64(0x9FB21C651E98DF25)
"""An n-gram is a number in this base, modulo 2 ** 64; odd, so that no character is lost."""


def ngram_hashes(texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the hashes of the n-grams of each text, strung together in order, and where those of each text begin.

    Args:
        texts: each of `NGRAM` characters or more.
    """
    characters = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    count = len(characters) - NGRAM + 1
    values = characters[:count]
    for offset in range(1, NGRAM):
        values = values * BASE + characters[offset : offset + count]
    ends = np.fromiter(accumulate(map(len, texts)), dtype=np.int64, count=len(texts))
    inside = np.ones(count, dtype=np.bool_)  # an n-gram that reaches into the next text belongs to neither
    for overhang in range(1, NGRAM):
        inside[ends[:-1] - overhang] = False
    starts = np.zeros(len(texts), dtype=np.int64)
    starts[1:] = ends[:-1] - (NGRAM - 1) * np.arange(1, len(texts))
    return mix(values[inside], 0), starts
