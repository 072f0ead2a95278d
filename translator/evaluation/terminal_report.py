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
    baseline_name = excerpt(next(iter(comparison.sets)), _MAX_TEXT)
    baseline = comparison.baseline
    lines: list[str] = []
    for name in comparison.compared:
        system_name = excerpt(name, _MAX_TEXT)
        system = comparison.sets[name]
        for direction, rows in comparison.largest_differences(name).items():
            if rows:
                lines += ["", f"sentences for which {system_name} is {direction} than {baseline_name} by most:"]
            for row in rows:
                # Show a sentence with its references and both translations.
                named_texts = [("source    ", baseline.text.sources[row])]
                named_texts += [("reference ", reference) for reference in baseline.text.references[row]]
                named_texts += [(f"{baseline_name}:", baseline.hypotheses[row])]
                named_texts += [(f"{system_name}:", system.hypotheses[row])]
                scores = f"chrF {system.sentence_chrf[row]:.1f}, of {baseline_name} {baseline.sentence_chrf[row]:.1f}"
                lines.append(f"  sentence {row + 1:,}: {scores}")
                lines += [f"    {label} {excerpt(text, _MAX_TEXT)}" for label, text in named_texts]
    return lines


def format_samples(samples: Sequence[TranslatedPair]) -> list[str]:
    """Return `samples`, each on three lines."""
    return [
        f"\n  source     {excerpt(sample.source, _MAX_TEXT)}"
        f"\n  reference  {excerpt(sample.reference, _MAX_TEXT)}"
        f"\n  translated {excerpt(sample.hypothesis, _MAX_TEXT)}"
        for sample in samples
    ]
