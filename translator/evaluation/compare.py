"""Comparison of systems on one test set: significance tests, wins and losses by sentence, and counted mistakes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from translator.config import MetricName
from translator.corpus.held_out import HeldOutSet
from translator.errors import InputError
from translator.evaluation.results import ScoredSet, distinct_names
from translator.evaluation.significance import METHODS, PairedTest, paired_test
from translator.evaluation.text_variants import RAW_TEXT, Spelling
from translator.run.logging import progress_bar

METRICS: Final[tuple[MetricName, ...]] = ("bleu", "chrf", "chrf++", "ter")
_EXAMPLES: Final = 5  # sentences with the largest differences, in each direction


@dataclass(frozen=True, kw_only=True)
class SystemComparison:
    """Systems against a baseline, the first, on one test set."""

    sets: Mapping[str, ScoredSet]  # the test set as each system translated it, by the name of the system
    tests: tuple[PairedTest, ...]  # by normalization, then by metric, then by method

    @property
    def baseline(self) -> ScoredSet:
        """The test set as the first system translated it."""
        return next(iter(self.sets.values()))

    @property
    def test_set(self) -> str:
        """Name of the test set."""
        return self.baseline.text.name

    @property
    def compared(self) -> list[str]:
        """Names of the systems that are compared with the baseline."""
        return list(self.sets)[1:]

    def gains(self, system: str) -> NDArray[np.float64]:
        """Return the chrF of each sentence by a system less that by the baseline, on raw text."""
        gains: NDArray[np.float64] = np.subtract(self.sets[system].sentence_chrf, self.baseline.sentence_chrf)
        return gains

    def count_sentences(self, system: str) -> dict[str, int]:
        """Return `wins`, `losses` and `ties` of a system, however small the difference."""
        gains = self.gains(system)
        return {"wins": int((gains > 0).sum()), "losses": int((gains < 0).sum()), "ties": int((gains == 0).sum())}

    def largest_differences(self, system: str) -> dict[str, list[dict[str, Any]]]:
        """Return the sentences for which a system is `better` and `worse` by most, the largest difference first."""
        baseline, compared = self.baseline, self.sets[system]
        differences = {}
        for direction, gains in (("better", self.gains(system)), ("worse", -self.gains(system))):
            sentences = []
            rows = np.argsort(-gains, kind="stable").tolist()  # stable: equal gains keep the order of the test set
            for row in rows[:_EXAMPLES]:
                if gains[row] <= 0:  # not better (or not worse) at all
                    continue
                sentence = {
                    "sentence": row + 1,
                    "source": baseline.text.sources[row],
                    "references": baseline.text.references[row],
                    "baseline": baseline.hypotheses[row],
                    "system": compared.hypotheses[row],
                    "baseline_chrf": baseline.sentence_chrf[row],
                    "system_chrf": compared.sentence_chrf[row],
                }
                sentences.append(sentence)
            differences[direction] = sentences
        return differences

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as values that JSON can hold."""
        text = self.baseline.text
        by_sentence: list[dict[str, Any]] = []
        for system in self.compared:
            by_sentence.append({"system": system, **self.count_sentences(system), **self.largest_differences(system)})
        return {
            "test_set": self.test_set,
            "sentences": len(text.sources),
            "left_out": text.left_out,
            "systems": list(self.sets),
            "tests": [asdict(test) for test in self.tests],
            "by_sentence": by_sentence,
            "mistakes": {name: scored.mistake_counts for name, scored in self.sets.items()},
        }


def compare_systems(
    sets: Sequence[ScoredSet],
    *,
    metrics: Sequence[MetricName] = METRICS,
    variants: Mapping[str, Spelling] = RAW_TEXT,
) -> SystemComparison:
    """Return how each system differs from the first; a single system has no tests.

    Args:
        sets: one test set, translated by one system or more; the first is the baseline.
        metrics: those that the significance tests compare.
        variants: by label, the normalizations applied to both sides before the comparison.

    Raises InputError: the sentences or references of two systems differ.
    """
    systems = dict(zip(distinct_names(sets), sets, strict=True))
    text = sets[0].text
    for name, scored in systems.items():
        _check_same_text(next(iter(systems)), text, name, scored.text)
    # Texts with equal sentences may differ in their name, origins and left-out lines: take those of the first system.
    systems = {name: replace(scored, text=text) for name, scored in systems.items()}

    # Test each metric on each variant of the text, by each method.
    hypotheses = {name: scored.hypotheses for name, scored in systems.items()}
    plan = list(product(variants, metrics, METHODS)) if len(systems) > 1 else []
    tests = []
    for label, metric, method in progress_bar(plan, description=f"comparing on {text.name}", unit="tests"):
        test = paired_test(
            hypotheses,
            text.references,
            metric=metric,
            normalization=label,
            spell=variants[label],
            method=method,
        )
        tests.append(test)
    return SystemComparison(sets=systems, tests=tuple(tests))


def _check_same_text(first_name: str, first: HeldOutSet, name: str, compared: HeldOutSet) -> None:
    """Raise InputError with the first difference, if the sentences or references of two systems differ."""
    problem = ""
    if len(first.sources) != len(compared.sources):
        problem = f"they have {len(first.sources):,} and {len(compared.sources):,} sentences"
    else:
        for side in ("sources", "references"):
            pairs = zip(getattr(first, side), getattr(compared, side), strict=True)
            differing = [number for number, (text, compared_text) in enumerate(pairs, start=1) if text != compared_text]
            if differing:
                problem = f"sentence {differing[0]:,} has different {side}"
                break
    if problem:
        raise InputError(
            f"`{first_name}` and `{name}` cannot be compared on `{compared.name}`: {problem}; "
            "evaluate both on the same test set"
        )
