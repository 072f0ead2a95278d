"""Comparison of systems on one test set: significance tests, wins and losses by sentence, and counted mistakes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np

from translator.config import MetricName
from translator.errors import InputError
from translator.evaluation.metrics import sentence_chrf
from translator.evaluation.results import ScoredSet, distinct_names
from translator.evaluation.significance import METHODS, PairedTest, paired_test
from translator.evaluation.text_variants import RAW_TEXT, TextVariant
from translator.run.logging import progress_bar
from translator.run.text import excerpt

METRICS: Final[tuple[MetricName, ...]] = ("bleu", "chrf", "chrf++", "ter")
_EXAMPLES: Final = 5  # sentences with the largest differences, in each direction
_MAX_QUOTED: Final = 60  # characters of a quotation in a message


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A sentence, counted from 1, on which two systems score differently."""

    sentence: int
    source: str
    references: tuple[str, ...]
    baseline: str
    system: str
    baseline_chrf: float
    system_chrf: float


@dataclass(frozen=True, kw_only=True)
class SentenceComparison:
    """One system against the baseline by chrF on raw text: counts of sentences, and the largest differences."""

    system: str
    wins: int
    losses: int
    ties: int
    better: tuple[Difference, ...]
    worse: tuple[Difference, ...]


@dataclass(frozen=True, kw_only=True)
class SystemComparison:
    """Systems against a baseline, the first, on one test set."""

    sets: Mapping[str, ScoredSet]  # the test set as each system translated it, by the name of the system
    tests: tuple[PairedTest, ...]  # by normalization, then by metric, then by method
    by_sentence: tuple[SentenceComparison, ...]

    @property
    def baseline(self) -> ScoredSet:
        """The test set as the first system translated it."""
        return next(iter(self.sets.values()))

    @property
    def test_set(self) -> str:
        """Name of the test set."""
        return self.baseline.text.name

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as values that JSON can hold."""
        text = self.baseline.text
        return {
            "test_set": self.test_set,
            "sentences": len(text.sources),
            "left_out": text.left_out,
            "systems": list(self.sets),
            "tests": [asdict(test) for test in self.tests],
            "by_sentence": [asdict(sentences) for sentences in self.by_sentence],
            "mistakes": {name: scored.mistake_counts for name, scored in self.sets.items()},
        }


def compare_systems(
    sets: Sequence[ScoredSet],
    *,
    metrics: Sequence[MetricName] = METRICS,
    variants: Sequence[TextVariant] = (RAW_TEXT,),
    description: str | None = None,
) -> SystemComparison:
    """Return how each system differs from the first.

    Args:
        sets: one test set, translated by two or more systems; the first is the baseline.
        metrics: those that the significance tests compare.
        variants: the normalizations applied to both sides before the comparison.
        description: text of the progress bar; None: no bar.

    Raises InputError: there are fewer than two systems, or their sentences or references differ.
    """
    if len(sets) < 2:
        raise InputError("a comparison needs at least two systems; give another run or file of translations")
    systems = dict(zip(distinct_names(sets), sets, strict=True))
    check_same_test_set(systems)
    systems = {name: replace(scored, text=sets[0].text) for name, scored in systems.items()}  # one name for each source

    # 1. Test each metric on each variant of the text, by each method.
    hypotheses = {name: scored.hypotheses for name, scored in systems.items()}
    references = sets[0].text.references
    plan = list(product(variants, metrics, METHODS))
    tests = []
    for variant, metric, method in progress_bar(
        plan, description=description or "", unit="tests", silent=description is None
    ):
        tests.append(paired_test(hypotheses, references, metric=metric, variant=variant, method=method))

    # 2. Compare each system with the baseline by sentence.
    by_sentence = [_compare_sentences(sets[0], scored, name) for name, scored in list(systems.items())[1:]]
    return SystemComparison(sets=systems, tests=tuple(tests), by_sentence=tuple(by_sentence))


def _compare_sentences(baseline: ScoredSet, scored: ScoredSet, name: str) -> SentenceComparison:
    """Return wins, losses and ties of `scored`, and the largest differences in each direction."""
    text = baseline.text
    baseline_chrf = sentence_chrf(baseline.hypotheses, text.references)
    system_chrf = sentence_chrf(scored.hypotheses, text.references)
    gains = np.array(system_chrf) - np.array(baseline_chrf)

    # A win is a higher chrF than the baseline's, however small the difference.
    wins = int((gains > 0).sum())
    losses = int((gains < 0).sum())

    # Rows of the sentences, the largest gain or loss first; equal ones in the order of the test set.
    best_rows = np.argsort(-gains, kind="stable")[:wins][:_EXAMPLES]
    worst_rows = np.argsort(gains, kind="stable")[:losses][:_EXAMPLES]

    def difference(row: int) -> Difference:
        return Difference(
            sentence=row + 1,
            source=text.sources[row],
            references=text.references[row],
            baseline=baseline.hypotheses[row],
            system=scored.hypotheses[row],
            baseline_chrf=baseline_chrf[row],
            system_chrf=system_chrf[row],
        )

    return SentenceComparison(
        system=name,
        wins=wins,
        losses=losses,
        ties=len(gains) - wins - losses,
        better=tuple(map(difference, best_rows.tolist())),
        worse=tuple(map(difference, worst_rows.tolist())),
    )


def check_same_test_set(systems: Mapping[str, ScoredSet]) -> None:
    """Raise InputError with the first difference, if the sentences or references of two systems differ."""
    (baseline_name, baseline), *compared_systems = systems.items()
    for name, scored in compared_systems:
        problem = _first_difference(baseline, scored)
        if problem is not None:
            names = f"`{excerpt(baseline_name, _MAX_QUOTED)}` and `{excerpt(name, _MAX_QUOTED)}`"
            test_set = excerpt(scored.text.name, _MAX_QUOTED)
            raise InputError(
                f"{names} cannot be compared on `{test_set}`: {problem}; evaluate both on the same test set"
            )


def _first_difference(baseline: ScoredSet, scored: ScoredSet) -> str | None:
    """Return in words where the test sets of two systems first differ; None if they are equal."""
    first, second = baseline.text, scored.text
    if len(first.sources) != len(second.sources):
        return f"they have {len(first.sources):,} and {len(second.sources):,} sentences"
    for number in range(len(first.sources)):
        if first.sources[number] != second.sources[number]:
            return f"sentence {number + 1:,} has different sources"
        if first.references[number] != second.references[number]:
            return f"sentence {number + 1:,} has different references"
    return None
