"""Significance: whether chance explains the difference between two systems' scores on one test set.

The bootstrap draws as many sentences as the test set has, with replacement, many times (Koehn 2004, "Statistical
Significance Tests for Machine Translation Evaluation"). Approximate randomisation swaps the translations of two systems
at random (Riezler and Maxwell 2005, "On Some Pitfalls in Automatic Evaluation and Significance Testing for MT").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from translator.config import MetricName
from translator.evaluation.metrics import (
    Interval,
    bounded_resamples,
    interval_of,
    reference_sides,
    resample,
    scorer,
)
from translator.evaluation.text_variants import Spelling

TRIALS: Final = 10_000  # of approximate randomisation
Method = Literal["bootstrap", "randomisation"]
METHODS: Final[Mapping[Method, Literal["bs", "ar"]]] = {"bootstrap": "bs", "randomisation": "ar"}
"""The methods, with the names that sacreBLEU gives them."""


@dataclass(frozen=True, kw_only=True)
class SystemResult:
    """The score of a system, and its difference from the baseline.

    `p_value` is the probability that chance gives a difference at least as large; None for the baseline.
    """

    system: str
    score: float
    interval: Interval | None  # of the resamples of a bootstrap
    difference: float
    p_value: float | None


@dataclass(frozen=True, kw_only=True)
class PairedTest:
    """One metric under one paired test; every system is tested against the first."""

    metric: MetricName
    normalization: str  # `raw`, or the normalization of both sides
    method: Method
    signature: str  # sacreBLEU's, with resamples or trials, and seed
    systems: tuple[SystemResult, ...]


def paired_test(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[tuple[str, ...]],
    *,
    metric: MetricName,
    normalization: str,
    spell: Spelling,
    method: Method,
) -> PairedTest:
    """Return sacreBLEU's test of each system against the first; a difference of 0 has the p-value 1.

    Args:
        systems: the N translations of each system by its name; the first is the baseline.
        references: one or more for each sentence.
        metric: any but `length_ratio`.
        normalization: label of the form in which both sides are compared.
        spell: brings a text into that form.
        method: paired bootstrap or paired approximate randomisation.
    """
    # 1. Spell both sides in the same way, and draw.
    spelt_systems: list[tuple[str, Sequence[str]]] = []
    for name, texts in systems.items():
        spelt_systems.append((name, list(map(spell, texts))))
    # All bootstrap samples are in memory at once, so a large test set gets fewer.
    draws = bounded_resamples(len(references)) if method == "bootstrap" else TRIALS
    sides = reference_sides(references, spell)
    signature, results = resample(spelt_systems, scorer(metric), sides, METHODS[method], draws)

    # 2. Take each system's result, and its difference from the baseline, as floats: JSON cannot hold numbers of NumPy.
    system_results = []
    for name, result in zip(systems, results, strict=True):
        difference = float(result.score - results[0].score)
        p_value = result.p_value
        if p_value is not None and difference == 0:
            p_value = 1.0  # equal scores are no evidence, whatever the draws say
        system_result = SystemResult(
            system=name,
            score=float(result.score),
            interval=interval_of(metric, result),
            difference=difference,
            p_value=p_value,
        )
        system_results.append(system_result)
    return PairedTest(
        metric=metric,
        normalization=normalization,
        method=method,
        signature=signature,
        systems=tuple(system_results),
    )
