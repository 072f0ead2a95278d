"""Bootstrap resampling of a test set (Koehn 2004), with the seed, the draws and the bounds of sacreBLEU.

sacreBLEU holds all resamples of a metric in memory at once: of chrF++, 24 numbers for each sentence of each of 1,000
resamples. Here they are drawn in parts, and once for all metrics.
"""

import os
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

_DRAWN_AT_ONCE: Final = 1_000_000
"""Sentences."""


def bootstrap_seed() -> int:
    """Return the seed of the draws: sacreBLEU's, which its environment variable may change."""
    text = os.environ.get("SACREBLEU_SEED", "12345")
    return int(text) if text.isdigit() else 12345


def resampled_sums(counts: npt.NDArray[np.float64], samples: int) -> npt.NDArray[np.float64]:
    """Return (samples, K): the sums of `counts` over as many sentences as there are, drawn with replacement.

    Args:
        counts: (N, K) what was counted in each sentence.
        samples: how often to draw.
    """
    sentences = len(counts)
    generator = np.random.default_rng(bootstrap_seed())
    sums = np.empty((samples, counts.shape[1]))
    part = max(1, _DRAWN_AT_ONCE // sentences)
    for start in range(0, samples, part):
        drawn = generator.choice(sentences, size=(min(part, samples - start), sentences), replace=True)
        often = np.stack([np.bincount(row, minlength=sentences) for row in drawn]).astype(np.float64)
        sums[start : start + part] = often @ counts
    return sums


def interval(scores: Sequence[float]) -> tuple[float, float]:
    """Return the bounds between which 95% of the scores of the resamples lie."""
    ordered = sorted(scores)
    left_out = len(ordered) // 40
    return ordered[left_out], ordered[-1 - left_out]
