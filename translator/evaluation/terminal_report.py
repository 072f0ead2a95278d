"""The results of an evaluation as lines for a terminal."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from translator.evaluation.compare import SystemComparison
from translator.evaluation.metrics import Score
from translator.evaluation.tables import (
    Form,
    format_tables,
    mistake_table,
    score_table,
    significance_tables,
)
from translator.run.text import excerpt

_MAX_TEXT: Final = 300  # characters of a sentence


class TranslatedPair(NamedTuple):
    """One sentence pair with the model's translation."""

    source: str
    reference: str
    hypothesis: str


def format_scores(scores: Sequence[Score]) -> list[str]:
    """Return a table for each test set, then what the columns mean, and the signatures of the scores.

    Scores are comparable only if their signatures are equal.
    """
    scores_of_sets: dict[str, list[Score]] = {}
    for score in scores:
        scores_of_sets.setdefault(score.test_set, []).append(score)
    # The name of a single system is not shown, so it may be empty.
    return format_tables(score_table({"": scores_of_set}) for scores_of_set in scores_of_sets.values())


def format_comparison(comparison: SystemComparison, form: Form = "text") -> list[str]:
    """Return tables of tests and mistakes; as text, then the sentences with the largest differences."""
    lines = format_tables([*significance_tables(comparison), mistake_table(comparison.sets)], form)
    return lines if form != "text" else [*lines, *format_differences(comparison)]


def format_differences(comparison: SystemComparison) -> list[str]:
    """Return the sentences for which a system is better or worse than the baseline by most."""
    baseline = excerpt(next(iter(comparison.sets)), _MAX_TEXT)
    lines: list[str] = []
    for name in comparison.compared:
        system = excerpt(name, _MAX_TEXT)
        for direction, differences in comparison.largest_differences(name).items():
            if differences:
                lines += ["", f"sentences for which {system} is {direction} than {baseline} by most:"]
            for sentence in differences:
                # Show a sentence with its references and both translations.
                texts = [("source    ", sentence["source"])]
                texts += [("reference ", reference) for reference in sentence["references"]]
                texts += [(f"{baseline}:", sentence["baseline"]), (f"{system}:", sentence["system"])]
                scores = f"chrF {sentence['system_chrf']:.1f}, of {baseline} {sentence['baseline_chrf']:.1f}"
                lines.append(f"  sentence {sentence['sentence']:,}: {scores}")
                lines += [f"    {label} {excerpt(text, _MAX_TEXT)}" for label, text in texts]
    return lines


def format_samples(samples: Sequence[TranslatedPair]) -> list[str]:
    """Return `samples`, each on three lines."""
    return [
        f"\n  source     {excerpt(sample.source, _MAX_TEXT)}"
        f"\n  reference  {excerpt(sample.reference, _MAX_TEXT)}"
        f"\n  translated {excerpt(sample.hypothesis, _MAX_TEXT)}"
        for sample in samples
    ]
