"""The results of an evaluation as lines for a terminal."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from translator.evaluation.compare import Difference, SystemComparison
from translator.evaluation.metrics import Score
from translator.evaluation.tables import (
    Form,
    format_tables,
    mistake_table,
    score_table,
    significance_tables,
    source_table,
)
from translator.run.text import excerpt

_MAX_TEXT: Final = 300  # characters of a sentence


class TranslatedPair(NamedTuple):
    """One sentence pair with the model's translation."""

    source: str
    reference: str
    hypothesis: str


def format_scores(scores: Sequence[Score]) -> list[str]:
    """Return a table for each test set, and below them what the columns mean and signatures.

    Scores are comparable only if their signatures are equal.
    """
    scores_of_sets: dict[str, list[Score]] = {}
    for score in scores:
        scores_of_sets.setdefault(score.test_set, []).append(score)
    return format_tables(score_table({"": scores_of_set}) for scores_of_set in scores_of_sets.values())


def format_comparison(comparison: SystemComparison, form: Form = "text") -> list[str]:
    """Return tables of tests, mistakes and sources; as text, then the sentences with the largest differences."""
    tables = [*significance_tables(comparison), mistake_table(comparison.sets)]
    sources = source_table(comparison.sets)
    lines = format_tables([*tables, sources] if sources.rows else tables, form)
    return lines if form != "text" else [*lines, *format_differences(comparison)]


def format_differences(comparison: SystemComparison) -> list[str]:
    """Return the sentences for which a system is better or worse than the baseline by most."""
    baseline = excerpt(next(iter(comparison.sets)), _MAX_TEXT)
    lines: list[str] = []
    for sentences in comparison.by_sentence:
        system = excerpt(sentences.system, _MAX_TEXT)
        for direction, differences in (("better", sentences.better), ("worse", sentences.worse)):
            if differences:
                lines += ["", f"sentences for which {system} is {direction} than {baseline} by most:"]
            for difference in differences:
                lines += _format_difference(difference, system, baseline)
    return lines


def _format_difference(difference: Difference, system: str, baseline: str) -> list[str]:
    """Return a sentence with its references and both translations as lines."""
    named_texts = [("source    ", difference.source)]
    named_texts += [("reference ", reference) for reference in difference.references]
    named_texts += [(f"{baseline}:", difference.baseline), (f"{system}:", difference.system)]
    scores = f"chrF {difference.system_chrf:.1f}, of {baseline} {difference.baseline_chrf:.1f}"
    lines = [f"  sentence {difference.sentence:,}: {scores}"]
    lines += [f"    {name} {excerpt(text, _MAX_TEXT)}" for name, text in named_texts]
    return lines


def format_samples(samples: Sequence[TranslatedPair]) -> list[str]:
    """Return `samples`, each on three lines."""
    return [
        f"\n  source     {excerpt(sample.source, _MAX_TEXT)}"
        f"\n  reference  {excerpt(sample.reference, _MAX_TEXT)}"
        f"\n  translated {excerpt(sample.hypothesis, _MAX_TEXT)}"
        for sample in samples
    ]
