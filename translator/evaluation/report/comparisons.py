"""The comparisons of the report: systems below each other, the tests side by side, and where they differ most."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from translator.evaluation.comparison import METHODS, SentenceComparison, SystemComparison
from translator.evaluation.comparison.results import Method, PairedTest, SystemResult
from translator.evaluation.metrics import show_value
from translator.evaluation.report.scores import metric_name
from translator.evaluation.scored_set import ScoredSet
from translator.pages import bar


@dataclass(frozen=True)
class TestedScore:
    """One metric of one system beside the baseline."""

    metric: str
    normalization: str
    first: bool
    """Whether it is the baseline's, which is the first of its metric."""
    system: str
    score: str
    difference: str
    p_values: Sequence[float | None]
    """For each method."""


@dataclass(frozen=True)
class SystemBeside:
    """One system beside the baseline, sentence by sentence."""

    system: str
    set_number: int | None
    """Of the system's set among those of the page, from 1; None if it is not there."""
    counts: SentenceComparison
    bar: Markup


@dataclass(frozen=True)
class ComparisonPart:
    """One test set as several systems translated it."""

    test_set: str
    sentences: int
    baseline: str
    methods: Sequence[str]
    scores: Sequence[TestedScore]
    beside: Sequence[SystemBeside]
    signatures: Sequence[tuple[str, str]]
    """Each with the name of its metric and method."""


def comparison_parts(
    comparisons: Sequence[SystemComparison], sets: Sequence[ScoredSet], labels: Sequence[str]
) -> list[ComparisonPart]:
    """Return what the page shows of each comparison.

    Args:
        comparisons: their systems are in the order of the sets.
        sets: all of the page.
        labels: of the systems of the sets.
    """
    return [_part(one, sets, labels) for one in comparisons]


def _part(one: SystemComparison, sets: Sequence[ScoredSet], labels: Sequence[str]) -> ComparisonPart:
    numbers: list[int | None] = [number for number, other in enumerate(sets, 1) if other.test_set == one.test_set]
    names = {system: labels[number - 1] for system, number in zip(one.systems, numbers, strict=False) if number}
    if len(numbers) != len(one.systems):
        numbers, names = [None] * len(one.systems), {}
    methods: list[Method] = [method for method in METHODS if any(test.method == method for test in one.tests)]
    scores: list[TestedScore] = []
    for key in dict.fromkeys((test.normalization, test.metric) for test in one.tests):
        tests = {test.method: test for test in one.tests if (test.normalization, test.metric) == key}
        scores += _tested(tests, methods, names)
    return ComparisonPart(
        test_set=one.test_set,
        sentences=one.sentences,
        baseline=names.get(one.systems[0], one.systems[0]),
        methods=[METHODS[method] for method in methods],
        scores=scores,
        beside=[
            SystemBeside(names.get(counts.system, counts.system), number, counts, _bar(counts))
            for counts, number in zip(one.by_sentence, numbers[1:], strict=True)
        ],
        signatures=[(f"{metric_name(test.metric)}, {METHODS[test.method]}", test.signature) for test in one.tests],
    )


def _tested(tests: dict[Method, PairedTest], methods: Sequence[Method], names: dict[str, str]) -> list[TestedScore]:
    """Return a metric of every system, from what each method tells of it."""
    example = next(iter(tests.values()))
    rows = []
    for place, result in enumerate(example.systems):
        results: list[SystemResult | None] = [
            tests[method].systems[place] if method in tests else None for method in methods
        ]
        rows.append(
            TestedScore(
                metric=metric_name(example.metric) + (", lower is better" if example.lower_is_better else ""),
                normalization=example.normalization,
                first=place == 0,
                system=names.get(result.system, result.system),
                score=show_value(example.metric, result.score),
                difference="" if place == 0 else f"{result.difference:+.2f}",
                p_values=[None if found is None else found.p_value for found in results],
            )
        )
    return rows


def _bar(counts: SentenceComparison) -> Markup:
    whole = max(counts.wins + counts.losses + counts.ties, 1)
    parts = (("train", counts.wins), ("gone", counts.ties), ("held", counts.losses))
    return bar([(style, count / whole) for style, count in parts])
