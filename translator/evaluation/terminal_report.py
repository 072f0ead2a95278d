"""The results of an evaluation as lines for a terminal."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from translator.corpus.held_out import left_out_note
from translator.evaluation.compare import Difference, SystemComparison
from translator.evaluation.diagnosis import Diagnosis
from translator.evaluation.metrics import Score
from translator.evaluation.results import ScoredSet
from translator.evaluation.tables import (
    MAX_LABEL,
    LabelledScore,
    count_sentences,
    finding_table,
    part_table,
    robustness_table,
    score_table,
    significance_table,
)
from translator.run.text import excerpt

_MAX_TITLE: Final = 300  # characters
_MAX_COMPARED_TEXT: Final = 200  # characters of a sentence in a comparison
_MAX_SAMPLE_TEXT: Final = 500
_MAX_SAMPLES: Final = 3


class TranslatedPair(NamedTuple):
    """One sentence pair with the model's translation."""

    source: str
    reference: str
    hypothesis: str


def format_scores(scores: Sequence[Score]) -> list[str]:
    """Return the scores of one system as lines, with signatures; scores are comparable only if these are equal."""
    # 1. Collect the rows, and a note on each incomplete test set.
    labelled_scores = []
    notes_of_sets: dict[str, str] = {}
    for score in scores:
        label = (score.test_set, score.metric, score.search, score.checkpoint)
        labelled_scores.append(LabelledScore(label=label, score=score))
        if score.left_out:
            notes_of_sets[score.test_set] = left_out_note(score.sentences, score.left_out)

    # 2. List the table, the notes and the signatures.
    table = score_table(("test set", "metric", "search", "checkpoint"), labelled_scores)
    lines = table.lines()
    if any(score.interval for score in scores):
        lines.append("in brackets: 95% bootstrap interval")
    lines += [f"{test_set}: {note}" for test_set, note in notes_of_sets.items()]
    lines += [f"{metric}: {signature}" for metric, signature in table.facts]
    return lines


def format_diagnosis(diagnosis: Diagnosis, system: str = "") -> list[str]:
    """Return the tables of mistakes and of parts as lines; `system` replaces the name of the system."""
    # The label of a system may already have its checkpoint or search.
    names = [diagnosis.test_set, system or diagnosis.system]
    for detail in (diagnosis.checkpoint, diagnosis.search):
        if detail not in system.split():
            names.append(detail)
    title = f"Diagnosis of {excerpt(', '.join(names), _MAX_TITLE)}"
    findings = finding_table([diagnosis], ["sentences"])
    parts = part_table([diagnosis], [""])
    return [title, *findings.lines(), "", *parts.lines()]


def format_robustness(scored: ScoredSet, label: str) -> list[str]:
    """Return the chrF loss under each noise as lines; empty if it was not measured."""
    if not scored.typed:
        return []
    title = f"{scored.test_set} with noisy input"
    return ["", title, *robustness_table([scored], [excerpt(label, MAX_LABEL)]).lines()]


def format_samples(samples: Sequence[TranslatedPair]) -> list[str]:
    """Return the first three of `samples`, each on three lines."""
    return [
        f"\n  source     {excerpt(sample.source, _MAX_SAMPLE_TEXT)}"
        f"\n  reference  {excerpt(sample.reference, _MAX_SAMPLE_TEXT)}"
        f"\n  translated {excerpt(sample.hypothesis, _MAX_SAMPLE_TEXT)}"
        for sample in samples[:_MAX_SAMPLES]
    ]


def format_comparison(comparison: SystemComparison) -> list[str]:
    """Return tables of tests, findings and parts, then wins, losses and the largest differences."""
    labels = [excerpt(label, MAX_LABEL) for label in comparison.systems]
    baseline = labels[0]
    sentence_count = count_sentences(comparison.sentences, comparison.left_out)
    test_set = excerpt(comparison.test_set, MAX_LABEL)
    lines = [f"{test_set}: {sentence_count}; differences and p-values against {baseline}"]

    # 1. The tables, and the signatures of the tests.
    tests = significance_table(comparison)
    findings = finding_table(comparison.diagnoses, labels)
    parts = part_table(comparison.diagnoses, labels)
    for table in (tests, findings, parts):
        lines += ["", *table.lines()]
    lines.append("")
    lines += [f"{test}: {signature}" for test, signature in tests.facts]

    # 2. Each system against the baseline, by sentence.
    for label, sentences in zip(labels[1:], comparison.by_sentence, strict=True):
        counts = f"{sentences.wins:,} better, {sentences.losses:,} worse, {sentences.ties:,} alike"
        lines += ["", f"{label} against {baseline} by sentence (chrF, raw): {counts}"]
        for direction, differences in (("better", sentences.better), ("worse", sentences.worse)):
            if differences:
                lines += ["", f"sentences for which {label} is {direction} by most:"]
            for difference in differences:
                lines += _format_difference(difference, label, baseline)
    return lines


def _format_difference(difference: Difference, label: str, baseline: str) -> list[str]:
    """Return a sentence with its references and both translations as lines."""
    named_texts = [("source    ", difference.source)]
    named_texts += [("reference ", reference) for reference in difference.references]
    named_texts += [(f"{baseline}:", difference.baseline), (f"{label}:", difference.system)]
    scores = f"chrF {difference.system_chrf:.1f}, of {baseline} {difference.baseline_chrf:.1f}"
    lines = [f"  sentence {difference.sentence:,}: {scores}"]
    lines += [f"    {name} {excerpt(text, _MAX_COMPARED_TEXT)}" for name, text in named_texts]
    return lines
