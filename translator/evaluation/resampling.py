"""Resampling: what chance does to a score, by bootstrap resampling or approximate randomisation.

The bootstrap draws as many sentences as the test set has, with replacement, many times (Koehn 2004, "Statistical
Significance Tests for Machine Translation Evaluation"). Approximate randomisation swaps the translations of two systems
at random (Riezler and Maxwell 2005, "On Some Pitfalls in Automatic Evaluation and Significance Testing for MT").
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import sacrebleu.significance
from sacrebleu.metrics.base import Metric

SEED: Final = 12345  # sacreBLEU's, which its signatures name
INTERVAL_QUANTILES: Final = (0.025, 0.975)  # of the resampled scores: bounds of the 95% interval
# Sentences in all bootstrap resamples of a score; sacreBLEU needs up to 100 bytes for each.
_MAX_DRAWN_SENTENCES: Final = 5_000_000
_MIN_SAMPLES: Final = 100

Interval = tuple[float, float]
References = list[list[Any]]
"""References as sacreBLEU takes them: N texts for each reference of a sentence, None where a sentence has fewer.

The type is `Any`, since the annotations of sacreBLEU do not have the None that it accepts.
"""


class Resampling(NamedTuple):
    """What resampling says of the scores of some systems."""

    signature: str  # sacreBLEU's, with the number of draws and the seed
    results: list[sacrebleu.significance.Result]  # for each system


def resample(
    systems: Sequence[tuple[str, Sequence[str]]],
    metric: Metric,
    references: References,
    kind: Literal["bs", "ar"],
    draws: int,
) -> Resampling:
    """Return sacreBLEU's result for each system: bootstrap mean and interval, and p-values against the first.

    Args:
        systems: name and N hypotheses of each.
        references: one or more for each of the N sentences.
        kind: `bs` for bootstrap resampling, `ar` for approximate randomisation.
        draws: resamples or trials.
    """
    test = sacrebleu.significance.PairedTest(
        list(systems), {"metric": metric}, references, test_type=kind, n_samples=draws
    )
    signatures, columns = test()
    (signature,) = signatures.values()
    # Of the two columns, one has the names of the systems.
    (column,) = (cells for title, cells in columns.items() if title != "System")
    results = [cell for cell in column if isinstance(cell, sacrebleu.significance.Result)]
    return Resampling(signature=str(signature), results=results)


def bounded_samples(samples: int, sentences: int) -> int:
    """Return `samples`, or fewer if the resamples of this many sentences do not fit into memory."""
    return min(samples, max(_MAX_DRAWN_SENTENCES // sentences, _MIN_SAMPLES))


def ratio_interval(numerators: Sequence[float], denominators: Sequence[float], samples: int) -> Interval:
    """Return the 95% interval of sum(numerators) / sum(denominators) over bootstrap resamples of the sentences.

    Args:
        numerators, denominators: N values, one for each sentence.
        samples: number of resamples.
    """
    values = np.array([numerators, denominators], dtype=np.float64)  # (2, N)
    generator = np.random.default_rng(SEED)
    sentences = len(numerators)
    ratios = []
    for _ in range(samples):
        drawn_sentences = generator.integers(sentences, size=sentences)
        numerator, denominator = values[:, drawn_sentences].sum(axis=1)
        ratios.append(numerator / denominator if denominator else 0.0)
    low, high = np.quantile(ratios, INTERVAL_QUANTILES)
    return float(low), float(high)


def signature_with_samples(signature: str, samples: int) -> str:
    """Return sacreBLEU's signature of a score without resampling, with number and seed of our own resamples added."""
    references, _, settings = signature.partition("|")
    return f"{references}|bs:{samples}|seed:{SEED}|{settings}"
