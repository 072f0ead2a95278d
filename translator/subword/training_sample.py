"""A random sample of a prepared corpus, of bounded size: the same lines on each machine, streamed in their order."""

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from translator.corpus.prepare import PreparedCorpus, Side
from translator.corpus.split import Split

_NUMBER_OF_SIDE: Final[dict[Side, int]] = {"en": 0, "fa": 1}


def draw_lines(corpus: PreparedCorpus, split: Split, side: Side, limit: int, seed: int) -> Iterator[str]:
    """Yield at most `limit` lines of one side, drawn without replacement and evenly from all sources of `split`.

    The lines come in the order of the corpus; each file is read to its end, so that damage is found.

    Raises:
        StorageError: the prepared text is damaged.
    """
    names = corpus.names(split)
    lines = itertools.chain.from_iterable(corpus.lines(split, name, side) for name in names)
    chosen = draw(sum(corpus.count(split, name) for name in names), limit, seed, side)
    yield from itertools.compress(lines, chosen.tobytes())  # a byte of 0 or 1 for each line


def draw(total: int, limit: int, seed: int, side: Side) -> npt.NDArray[np.bool_]:
    """Return which of `total` lines are drawn, at most `limit` of them, without replacement, by seed and side.

    Each line gets a random key of 64 bits, and those of the smallest keys are taken: the raw bits of a generator stay
    the same in every version of NumPy, which its methods for drawing need not.
    """
    if limit >= total:
        return np.ones(total, dtype=np.bool_)
    keys = np.random.PCG64(np.random.SeedSequence([seed, _NUMBER_OF_SIDE[side]])).random_raw(total)
    chosen = np.zeros(total, dtype=np.bool_)
    chosen[np.argpartition(keys, limit)[:limit]] = True
    return chosen
