"""Comparison of systems on one test set: significance tests, wins and losses by sentence, and a diagnosis of each."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from translator.config import MetricName
from translator.errors import InputError
from translator.evaluation.diagnosis import Diagnosis, diagnose
from translator.evaluation.metrics import sentence_chrf
from translator.evaluation.results import ScoredSet, distinct_labels
from translator.evaluation.significance import Method, PairedTest, paired_test
from translator.evaluation.text_variants import RAW_TEXT, TextVariant
from translator.run.logging import progress_bar
from translator.run.text import excerpt

METRICS: Final[tuple[MetricName, ...]] = ("bleu", "chrf", "chrf++", "ter")
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

    test_set: str
    sentences: int
    left_out: tuple[int, ...]  # lines of the test set of the baseline, from 1, that no system is scored on
    systems: tuple[str, ...]  # their labels, all different
    tests: tuple[PairedTest, ...]  # by normalization, then by metric, then by method
    by_sentence: tuple[SentenceComparison, ...]
    diagnoses: tuple[Diagnosis, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as values that JSON can hold."""
        values = asdict(replace(self, diagnoses=()))
        values["diagnoses"] = [diagnosis.to_json() for diagnosis in self.diagnoses]
        return values


def compare_systems(
    sets: Sequence[ScoredSet],
    *,
    metrics: Sequence[MetricName] = METRICS,
    variants: Sequence[TextVariant] = (RAW_TEXT,),
    samples: int = 1000,
    trials: int = 10_000,
    examples: int = 10,
    description: str | None = None,
) -> SystemComparison:
    """Return how each system differs from the first.

    Args:
        sets: one test set, translated by two or more systems; the first is the baseline.
        metrics: those that the significance tests compare.
        variants: the normalizations applied to both sides before the comparison.
        samples: bootstrap samples; 0 skips this test.
        trials: trials of approximate randomisation; 0 skips this test.
        examples: number of largest differences in each direction.
        description: text of the progress bar; None: no bar.

    Raises InputError: there are fewer than two systems, or their sentences or references differ.
    """
    if len(sets) < 2:
        raise InputError("a comparison needs at least two systems; give another run or file of translations")
    check_same_test_set(sets)
    labels = distinct_labels(sets)

    # 1. Test each metric on each variant of the text, by each method.
    plan = _planned_tests(metrics, variants, samples, trials)
    tests = []
    for planned in progress_bar(plan, description=description or "", unit="tests", silent=description is None):
        tests.append(paired_test(sets, labels, **planned._asdict()))

    # 2. Compare each system with the baseline by sentence.
    baseline = sets[0]
    by_sentence = []
    for scored, label in zip(sets[1:], labels[1:], strict=True):
        by_sentence.append(_compare_sentences(baseline, scored, label, examples))
    return SystemComparison(
        test_set=baseline.test_set,
        sentences=len(baseline.sources),
        left_out=baseline.left_out,
        systems=labels,
        tests=tuple(tests),
        by_sentence=tuple(by_sentence),
        diagnoses=tuple(map(diagnose, sets)),
    )


class _PlannedTest(NamedTuple):
    """The settings of one `paired_test`."""

    metric: MetricName
    variant: TextVariant
    method: Method
    draws: int


def _planned_tests(
    metrics: Sequence[MetricName], variants: Sequence[TextVariant], samples: int, trials: int
) -> list[_PlannedTest]:
    """Return the tests of a comparison in their order; without draws, a method is left out."""
    draws_of_method: dict[Method, int] = {"bootstrap": samples, "randomisation": trials}
    plan = []
    for variant in variants:
        for metric in metrics:
            for method, draws in draws_of_method.items():
                if draws:
                    plan.append(_PlannedTest(metric, variant, method, draws))
    return plan


def _compare_sentences(baseline: ScoredSet, scored: ScoredSet, label: str, examples: int) -> SentenceComparison:
    """Return wins, losses and ties of `scored`, and up to `examples` of the largest differences in each direction."""
    baseline_chrf = sentence_chrf(baseline.hypotheses, baseline.references)
    system_chrf = sentence_chrf(scored.hypotheses, scored.references)
    gains = np.array(system_chrf) - np.array(baseline_chrf)

    # A win is a higher chrF than the baseline's, however small the difference.
    wins = int((gains > 0).sum())
    losses = int((gains < 0).sum())

    # Rows of the sentences, the largest gain or loss first; equal ones in the order of the test set.
    best_rows = np.argsort(-gains, kind="stable")[:wins][:examples]
    worst_rows = np.argsort(gains, kind="stable")[:losses][:examples]

    def difference(row: int) -> Difference:
        return Difference(
            sentence=row + 1,
            source=scored.sources[row],
            references=scored.references[row],
            baseline=baseline.hypotheses[row],
            system=scored.hypotheses[row],
            baseline_chrf=baseline_chrf[row],
            system_chrf=system_chrf[row],
        )

    return SentenceComparison(
        system=label,
        wins=wins,
        losses=losses,
        ties=len(gains) - wins - losses,
        better=tuple(map(difference, best_rows.tolist())),
        worse=tuple(map(difference, worst_rows.tolist())),
    )


def check_same_test_set(sets: Sequence[ScoredSet]) -> None:
    """Raise InputError with the first difference, if the sentences or references of two systems differ."""
    labels = distinct_labels(sets)
    for scored, label in zip(sets[1:], labels[1:], strict=True):
        problem = _first_difference(sets[0], scored)
        if problem is not None:
            systems = f"`{excerpt(labels[0], _MAX_QUOTED)}` and `{excerpt(label, _MAX_QUOTED)}`"
            test_set = excerpt(scored.test_set, _MAX_QUOTED)
            raise InputError(
                f"{systems} cannot be compared on `{test_set}`: {problem}; evaluate both on the same test set"
            )


def _first_difference(baseline: ScoredSet, scored: ScoredSet) -> str | None:
    """Return in words where the test sets of two systems first differ; None if they are equal."""
    if len(baseline.sources) != len(scored.sources):
        return f"they have {len(baseline.sources):,} and {len(scored.sources):,} sentences"
    row = _first_unequal_row(baseline.sources, scored.sources)
    if row is not None:
        return _difference_message(row, "sources", baseline.sources[row], scored.sources[row])
    row = _first_unequal_row(baseline.references, scored.references)
    if row is not None:
        baseline_references = " / ".join(baseline.references[row])
        return _difference_message(row, "references", baseline_references, " / ".join(scored.references[row]))
    return None


def _first_unequal_row(baseline_texts: Sequence[object], texts: Sequence[object]) -> int | None:
    for row, baseline_text in enumerate(baseline_texts):
        if texts[row] != baseline_text:
            return row
    return None


def _difference_message(row: int, side: str, baseline_text: str, text: str) -> str:
    quotations = f"«{excerpt(baseline_text, _MAX_QUOTED)}» and «{excerpt(text, _MAX_QUOTED)}»"
    return f"sentence {row + 1:,} has different {side}, {quotations}"
