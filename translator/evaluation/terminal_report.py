"""The results of an evaluation as lines for a terminal."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from translator.corpus.held_out import left_out_note
from translator.evaluation.compare import Difference, SystemComparison
from translator.evaluation.diagnosis import Diagnosis
from translator.evaluation.metrics import LOWER_IS_BETTER, Score, show_value
from translator.evaluation.results import ScoredSet
from translator.evaluation.significance import METHODS, PairedTest
from translator.evaluation.tables import (
    MAX_LABEL,
    NO_VALUE,
    LabelledScore,
    count_sentences,
    finding_table,
    part_table,
    robustness_table,
    score_table,
    shown_difference,
    shown_interval,
    shown_p_value,
)
from translator.evaluation.test_set_parts import PART_METRICS
from translator.evaluation.text_variants import RAW
from translator.run.text import excerpt, text_table

_MAX_TITLE: Final = 300  # characters
_MAX_COMPARED_TEXT: Final = 200  # characters of a sentence in a comparison
_MAX_SAMPLE_TEXT: Final = 500
_MAX_SAMPLES: Final = 3
_MAX_COLUMN: Final = 16  # characters of the label of a system in a table of 80 columns
_CITED_METRICS: Final = ("bleu", "chrf")  # whose signatures are printed


class TranslatedPair(NamedTuple):
    """One sentence pair with the model's translation."""

    source: str
    reference: str
    hypothesis: str


def format_scores(scores: Sequence[Score]) -> list[str]:
    """Return a table for each test set, search and checkpoint, and below them what the columns mean and signatures.

    Scores are comparable only if their signatures are equal.
    """
    # 1. Collect the rows of each table, and a note on each incomplete test set.
    scores_by_title: dict[str, list[LabelledScore]] = {}
    notes_of_sets: dict[str, str] = {}
    signatures: dict[tuple[str, str], None] = {}
    for score in scores:
        title = ", ".join(name for name in (score.test_set, score.search, score.checkpoint) if name)
        scores_by_title.setdefault(title, []).append(LabelledScore(label=(score.metric,), score=score))
        signatures[score.metric, score.signature] = None
        if score.left_out:
            notes_of_sets[score.test_set] = left_out_note(score.sentences, score.left_out)

    # 2. The tables.
    headings = _short_headings(score.normalization for score in scores)
    lines: list[str] = []
    for title, labelled_scores in scores_by_title.items():
        table = score_table(("metric",), labelled_scores)
        header = [headings.get(name, name) for name in table.header]
        lines += [excerpt(title, _MAX_TITLE), *table._replace(header=header).lines(), ""]

    # 3. What they mean.
    if any(score.interval for score in scores):
        lines.append("in brackets: 95% bootstrap interval")
    lines += [f"{heading}: {name}" for name, heading in headings.items() if heading != name]
    lines += [f"{test_set}: {note}" for test_set, note in notes_of_sets.items()]
    return [*lines, *_signature_lines(list(signatures), "scores.json")]


def _short_headings(normalizations: Iterable[str]) -> dict[str, str]:
    """Return a short heading for each normalization of a text; of two that would be equal, the second stays long."""
    headings: dict[str, str] = {}
    for normalization in normalizations:
        heading = "normalized"
        if normalization == RAW:
            heading = RAW
        elif "ZWNJ as space" in normalization:
            heading = "ZWNJ as space"
        if normalization not in headings:
            headings[normalization] = normalization if heading in headings.values() else heading
    return headings


def _signature_lines(signatures: Sequence[tuple[str, str]], place: str) -> list[str]:
    """Return the signatures of BLEU and chrF, each below its name, and the place where those of other metrics are.

    Args:
        signatures: the name of each score, which begins with its metric, and its signature.
        place: where the reader finds all signatures.
    """
    cited_signatures = []
    other_metrics: dict[str, None] = {}
    for name, signature in signatures:
        metric = name.partition(",")[0]
        if metric in _CITED_METRICS:
            cited_signatures.append((name, signature))
        else:
            other_metrics[metric] = None
    lines: list[str] = []
    for name, signature in cited_signatures:
        lines += [f"signature of {name}:", signature]
    if other_metrics:
        lines.append(f"signatures of {', '.join(other_metrics)}: in {place}")
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
    columns = labels
    if max(map(len, labels)) > _MAX_COLUMN:
        columns = [f"system {number}" for number in range(1, len(labels) + 1)]
    baseline = labels[0]
    sentence_count = count_sentences(comparison.sentences, comparison.left_out)
    test_set = excerpt(comparison.test_set, MAX_LABEL)
    lines = [f"{test_set}: {sentence_count}; differences and p-values against {baseline}"]

    if columns != labels:
        lines += [f"{column}: {label}" for column, label in zip(columns, labels, strict=True)]

    # 1. The tables, and the signatures of the tests.
    lines += _format_tests(comparison.tests, columns)
    lines += ["", *finding_table(comparison.diagnoses, columns).lines()]
    for metric in PART_METRICS:
        lines += ["", *part_table(comparison.diagnoses, columns, [metric]).lines()]
    signatures = [(f"{test.metric}, {METHODS[test.method]}", test.signature) for test in comparison.tests]
    lines += ["", *_signature_lines(list(dict.fromkeys(signatures)), "the file of translator compare --json FILE")]

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


def _format_tests(tests: Sequence[PairedTest], columns: Sequence[str]) -> list[str]:
    """Return a table of the tests on each text, with a row for each metric and system, and what its columns mean."""
    # 1. The tests of a metric on a text are one group of rows.
    tests_by_text: dict[str, dict[str, list[PairedTest]]] = {}
    for test in tests:
        tests_by_text.setdefault(test.normalization, {}).setdefault(test.metric, []).append(test)

    # 2. The tables.
    lines: list[str] = []
    for text, tests_by_metric in tests_by_text.items():
        rows = []
        for metric, tests_of_metric in tests_by_metric.items():
            for number, column in enumerate(columns):
                rows.append([metric, column, *_test_cells(tests_of_metric, number)])
        header = ("metric", "system", "score", "mean ± half CI", "difference", "p (bs)", "p (ar)")
        lines += ["", f"text: {text}", *text_table(header, rows, text_columns=2).split("\n")]

    # 3. What they mean.
    lines += ["mean ± half CI: of the bootstrap resamples, with their 95% interval"]
    lines += [f"p (bs): {METHODS['bootstrap']}; p (ar): {METHODS['randomisation']}"]
    if any(test.metric in LOWER_IS_BETTER for test in tests):
        lines.append(f"lower is better: {', '.join(LOWER_IS_BETTER)}")
    return lines


def _test_cells(tests: Sequence[PairedTest], system: int) -> list[str]:
    """Return score, mean, difference and a p-value of each method, of one system in the tests of one metric."""
    interval = NO_VALUE
    p_values = {"bootstrap": NO_VALUE, "randomisation": NO_VALUE}
    for test in tests:
        result = test.systems[system]
        p_values[test.method] = shown_p_value(result)
        if test.method == "bootstrap":
            interval = shown_interval(test, result)
    # Score and difference are the same in both tests.
    result = tests[0].systems[system]
    return [show_value(tests[0].metric, result.score), interval, shown_difference(result), *p_values.values()]


def _format_difference(difference: Difference, label: str, baseline: str) -> list[str]:
    """Return a sentence with its references and both translations as lines."""
    named_texts = [("source    ", difference.source)]
    named_texts += [("reference ", reference) for reference in difference.references]
    named_texts += [(f"{baseline}:", difference.baseline), (f"{label}:", difference.system)]
    scores = f"chrF {difference.system_chrf:.1f}, of {baseline} {difference.baseline_chrf:.1f}"
    lines = [f"  sentence {difference.sentence:,}: {scores}"]
    lines += [f"    {name} {excerpt(text, _MAX_COMPARED_TEXT)}" for name, text in named_texts]
    return lines
