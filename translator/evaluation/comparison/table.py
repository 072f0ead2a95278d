"""A comparison as lines for a terminal."""

from collections.abc import Iterator
from typing import Final

from translator.evaluation.comparison.results import METHODS, Difference, PairedTest, SystemComparison
from translator.evaluation.metrics import show_value
from translator.text_table import excerpt, text_table

LONGEST_TEXT: Final = 200
"""Characters of a sentence that are shown."""
LONGEST_LABEL: Final = 40
NOTHING: Final = "–"


def format_comparison(comparison: SystemComparison) -> list[str]:
    """Return the table of all tests, wins and losses, and the largest differences each way."""
    baseline = excerpt(comparison.systems[0], LONGEST_LABEL)
    lines = [
        f"{excerpt(comparison.test_set, LONGEST_LABEL)}: {comparison.sentences:,} sentences; "
        f"differences and p-values against {baseline}"
    ]
    for normalization in dict.fromkeys(test.normalization for test in comparison.tests):
        tests = [test for test in comparison.tests if test.normalization == normalization]
        lines += ["", f"text: {normalization}", *_test_table(tests)]
    lines += ["", *(f"{test.metric}, {METHODS[test.method]}: {test.signature}" for test in comparison.tests)]
    for one in comparison.by_sentence:
        label = excerpt(one.system, LONGEST_LABEL)
        lines += [
            "",
            f"{label} against {baseline} by sentence (chrF, raw): {one.wins:,} better, {one.losses:,} worse, "
            f"{one.ties:,} alike",
        ]
        for title, differences in ((f"{label} is better", one.better), (f"{label} is worse", one.worse)):
            if differences:
                lines += ["", f"where {title} by most:"]
            for difference in differences:
                lines += _difference(difference, baseline, label)
    return lines


def _test_table(tests: list[PairedTest]) -> list[str]:
    header = ("metric", "test", "system", "score", "mean ± half of 95%", "difference", "p")
    rows = []
    for test in tests:
        name = f"{test.metric} (lower is better)" if test.lower_is_better else test.metric
        for one in test.systems:
            is_baseline = one.p_value is None
            interval = NOTHING
            if one.mean is not None and one.half_interval is not None:
                interval = f"{show_value(test.metric, one.mean)} ± {show_value(test.metric, one.half_interval)}"
            rows.append(
                (
                    name,
                    METHODS[test.method],
                    excerpt(one.system, LONGEST_LABEL),
                    show_value(test.metric, one.score),
                    interval,
                    NOTHING if is_baseline else f"{one.difference:+.2f}",
                    NOTHING if one.p_value is None else f"{one.p_value:.4f}",
                )
            )
    return text_table(header, rows, text_columns=3).split("\n")


def _difference(difference: Difference, baseline: str, label: str) -> Iterator[str]:
    yield (
        f"  sentence {difference.sentence:,}: chrF {difference.system_chrf:.1f}, "
        f"of {baseline} {difference.baseline_chrf:.1f}"
    )
    yield f"    source     {excerpt(difference.source, LONGEST_TEXT)}"
    for reference in difference.references:
        yield f"    reference  {excerpt(reference, LONGEST_TEXT)}"
    yield f"    {baseline}: {excerpt(difference.baseline, LONGEST_TEXT)}"
    yield f"    {label}: {excerpt(difference.system, LONGEST_TEXT)}"
