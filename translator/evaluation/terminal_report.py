"""The results of an evaluation as lines for a terminal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from translator.evaluation.compare import Difference, SystemComparison
from translator.evaluation.metrics import Score
from translator.evaluation.results import ScoredSet
from translator.evaluation.tables import (
    Form,
    Table,
    format_tables,
    mistake_table,
    noise_table,
    score_tables,
    significance_tables,
    source_table,
)
from translator.run.text import excerpt

_MAX_TEXT: Final = 300  # characters of a sentence
_MAX_SAMPLES: Final = 3


class TranslatedPair(NamedTuple):
    """One sentence pair with the model's translation."""

    source: str
    reference: str
    hypothesis: str


def format_scores(scores: Sequence[Score]) -> list[str]:
    """Return a table for each test set, and below them what the columns mean and signatures.

    Scores are comparable only if their signatures are equal.
    """
    return format_tables(score_tables({"": scores}))


def format_evaluation(
    systems_of_sets: Iterable[Mapping[str, ScoredSet]], comparisons: Iterable[SystemComparison], form: Form
) -> list[str]:
    """Return all tables of an evaluation: scores, noisy input, mistakes, sources, and significance tests.

    Args:
        systems_of_sets: each test set as every system translated it, by the name of the system.
        comparisons: one for each test set, if there are several systems.
        form: text, or one for papers.
    """
    tables: list[Table] = []
    for systems in systems_of_sets:
        tables += score_tables({name: scored.scores for name, scored in systems.items()})
        tables += [noise_table(systems), mistake_table(systems), source_table(systems)]
    for comparison in comparisons:
        tables += significance_tables(comparison)
    return format_tables(tables, form)


def format_comparison(comparison: SystemComparison, form: Form = "text") -> list[str]:
    """Return tables of tests, mistakes and sources; as text, then wins, losses and the largest differences."""
    tables = [*significance_tables(comparison), mistake_table(comparison.sets), source_table(comparison.sets)]
    lines = format_tables(tables, form)
    return lines if form != "text" else [*lines, *format_differences(comparison)]


def format_differences(comparison: SystemComparison) -> list[str]:
    """Return how many sentences of each system are better and worse than those of the baseline, and some of them."""
    baseline = excerpt(next(iter(comparison.sets)), _MAX_TEXT)
    lines: list[str] = []
    for sentences in comparison.by_sentence:
        system = excerpt(sentences.system, _MAX_TEXT)
        counts = f"{sentences.wins:,} better, {sentences.losses:,} worse, {sentences.ties:,} alike"
        lines += ["", f"{system} against {baseline} by sentence (chrF, raw): {counts}"]
        for direction, differences in (("better", sentences.better), ("worse", sentences.worse)):
            if differences:
                lines += ["", f"sentences for which {system} is {direction} by most:"]
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
    """Return the first three of `samples`, each on three lines."""
    return [
        f"\n  source     {excerpt(sample.source, _MAX_TEXT)}"
        f"\n  reference  {excerpt(sample.reference, _MAX_TEXT)}"
        f"\n  translated {excerpt(sample.hypothesis, _MAX_TEXT)}"
        for sample in samples[:_MAX_SAMPLES]
    ]
