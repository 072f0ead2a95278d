"""Significance: whether chance explains the difference between two systems' scores on one test set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import sacrebleu.significance

from translator.config import MetricName
from translator.evaluation.metrics import reference_sides, scorer
from translator.evaluation.resampling import resample
from translator.evaluation.results import ScoredSet
from translator.evaluation.text_variants import TextVariant

Method = Literal["bootstrap", "randomisation"]
METHODS: Final[Mapping[Method, str]] = {
    "bootstrap": "paired bootstrap",  # Koehn 2004
    "randomisation": "paired approximate randomisation",  # Riezler and Maxwell 2005
}
_SACREBLEU_METHODS: Final[Mapping[Method, Literal["bs", "ar"]]] = {"bootstrap": "bs", "randomisation": "ar"}


@dataclass(frozen=True, kw_only=True)
class SystemResult:
    """The score of a system, and its difference from the baseline.

    `p_value` is the probability that chance gives a difference at least as large; None for the baseline. A bootstrap
    also gives the `mean` score of its resamples, and half the width of their 95% interval.
    """

    system: str
    score: float
    difference: float
    p_value: float | None
    mean: float | None
    half_interval: float | None


@dataclass(frozen=True, kw_only=True)
class PairedTest:
    """One metric under one paired test; every system is tested against the first."""

    metric: MetricName
    normalization: str  # `raw`, or the normalization of both sides
    method: Method
    signature: str  # sacreBLEU's, with samples and seed
    systems: tuple[SystemResult, ...]


def paired_test(
    sets: Sequence[ScoredSet],
    labels: Sequence[str],
    *,
    metric: MetricName,
    variant: TextVariant,
    method: Method,
    draws: int,
) -> PairedTest:
    """Return the test of each system against the first; unlike in sacreBLEU, a difference of 0 has the p-value 1.

    Args:
        sets: one test set, translated by each system; the first is the baseline.
        labels: names of the systems, all different.
        metric: all but `length_ratio` and COMET.
        variant: the normalization of both sides.
        method: paired bootstrap or paired approximate randomisation.
        draws: number of resamples or trials.
    """
    # 1. Spell both sides in the same way, and draw.
    systems = []
    for scored, label in zip(sets, labels, strict=True):
        systems.append((label, [variant.spell(text) for text in scored.hypotheses]))
    references = reference_sides(sets[0].references, variant.spell)
    resampling = resample(systems, scorer(metric), references, _SACREBLEU_METHODS[method], draws)

    # 2. Take each system's result, and its difference from the baseline.
    baseline_score = resampling.results[0].score
    results = []
    for label, result in zip(labels, resampling.results, strict=True):
        results.append(_system_result(label, result, float(result.score - baseline_score)))
    return PairedTest(
        metric=metric,
        normalization=variant.label,
        method=method,
        signature=resampling.signature,
        systems=tuple(results),
    )


def _system_result(label: str, result: sacrebleu.significance.Result, difference: float) -> SystemResult:
    p_value = _optional_float(result.p_value)
    if p_value is not None and difference == 0:
        p_value = 1.0
    return SystemResult(
        system=label,
        score=float(result.score),
        difference=difference,
        p_value=p_value,
        mean=_optional_float(result.mean),
        half_interval=_optional_float(result.ci),
    )


def _optional_float(value: float | None) -> float | None:
    """Return a number of numpy as a number of Python, which JSON can hold."""
    return None if value is None else float(value)
