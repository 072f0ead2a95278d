"""Tables of an evaluation, for a terminal and for its page: scores, findings, parts, noise and significance tests."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from translator.config import MetricName
from translator.corpus.held_out import left_out_note
from translator.evaluation.compare import SystemComparison
from translator.evaluation.diagnosis import Diagnosis
from translator.evaluation.metrics import LOWER_IS_BETTER, Score, show_value
from translator.evaluation.mistakes.checks import CHECKS
from translator.evaluation.results import ScoredSet
from translator.evaluation.significance import METHODS, PairedTest, SystemResult
from translator.evaluation.test_set_parts import PART_METRICS, Part
from translator.evaluation.text_variants import RAW
from translator.run.text import excerpt, text_table

MAX_LABEL: Final = 40  # characters of the label of a system
NO_VALUE: Final = "–"


class Table(NamedTuple):
    """A table for a terminal or, by the template of report.html, for a page."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: int = 1  # from the left; the others hold numbers
    title: str = ""
    facts: Sequence[tuple[str, str]] = ()  # names and signatures, which a page shows on request

    def lines(self) -> list[str]:
        """Return header, rule and rows, without the title; empty if there are no rows."""
        if not self.rows:
            return []
        return text_table(self.header, self.rows, text_columns=self.text_columns).split("\n")


class LabelledScore(NamedTuple):
    """A score, and the cells that name it in a table, such as metric and system."""

    label: tuple[str, ...]
    score: Score


def score_table(header: Sequence[str], scores: Iterable[LabelledScore], title: str = "") -> Table:
    """Return a table of scores with a column for each normalization.

    Args:
        header: names of the columns on the left, which label a score.
        scores: rows keep their order; scores with equal labels share a row.
    """
    # 1. Sort the scores into rows and columns.
    shown_scores: dict[tuple[str, ...], dict[str, str]] = {}  # by label, then by normalization
    normalizations: dict[str, None] = {}  # in the order of the columns
    signatures: dict[tuple[str, str], None] = {}
    for label, score in scores:
        row = shown_scores.setdefault(label, {})
        row.setdefault(score.normalization, score.shown)
        signatures[score.metric, score.signature] = None
    for row in shown_scores.values():
        normalizations.update(dict.fromkeys(row))

    # 2. Make the cells. A metric may lack a score on some texts: COMET has one on raw text only.
    rows = []
    for label, row in shown_scores.items():
        rows.append([*label, *(row.get(normalization, "") for normalization in normalizations)])
    return Table(
        header=[*header, *normalizations],
        rows=rows,
        text_columns=len(header),
        title=title,
        facts=list(signatures),
    )


def finding_table(diagnoses: Sequence[Diagnosis], labels: Sequence[str]) -> Table:
    """Return counts of each mistake, like `3 of 20 (15.0%)`, with a column for each system."""
    counts_of_systems = [diagnosis.counts() for diagnosis in diagnoses]
    rows = []
    for name in CHECKS:
        if not any(name in counts for counts in counts_of_systems):
            continue
        # A system without scores of its model has no count of some mistakes.
        cells = []
        for diagnosis, counts in zip(diagnoses, counts_of_systems, strict=True):
            possible = diagnosis.possible.get(name, 0)
            cells.append(f"{counts[name]:,} of {possible:,} ({counts[name] / possible:.1%})" if possible else NO_VALUE)
        rows.append([shown_name(name), *cells])
    return Table(header=["finding", *labels], rows=rows, title=diagnoses[0].test_set)


def shown_name(name: str) -> str:
    """Return the name of a mistake as text."""
    return name.replace("_", " ")


def part_table(
    diagnoses: Sequence[Diagnosis], labels: Sequence[str], metrics: Sequence[MetricName] = PART_METRICS
) -> Table:
    """Return the scores of the parts of a test set, a column for each metric and system."""
    # 1. Find the parts of each system; they may differ, since the training texts of systems have different rare words.
    parts_of_systems: list[dict[tuple[str, str], Part]] = []
    sentence_counts: dict[tuple[str, str], int] = {}
    for diagnosis in diagnoses:
        parts = {}
        for part in diagnosis.parts:
            parts[part.kind, part.name] = part
            sentence_counts.setdefault((part.kind, part.name), part.sentences)
        parts_of_systems.append(parts)

    # 2. Make a row for each part: for each metric the score of every system.
    rows = []
    for key, sentences in sentence_counts.items():
        cells = []
        for metric in metrics:
            for parts in parts_of_systems:
                cells.append(show_value(metric, parts[key].scores[metric]) if key in parts else NO_VALUE)
        rows.append([*key, f"{sentences:,}", *cells])

    # 3. Name the columns.
    columns = []
    for metric in metrics:
        columns += [f"{metric} {label}".strip() for label in labels]
    return Table(header=["by", "part", "sentences", *columns], rows=rows, text_columns=2, title=diagnoses[0].test_set)


def robustness_table(sets: Sequence[ScoredSet], labels: Sequence[str]) -> Table:
    """Return the chrF loss of each system under each noise, below the score of the original text."""
    rows = []
    for scored, label in zip(sets, labels, strict=True):
        if not scored.typed:
            continue
        # First the original text, then each noise.
        for score in scored.scores:
            if score.metric == "chrf" and score.normalization == RAW:
                rows.append([label, "original", score.shown, "", ""])
        for typed in scored.typed:
            low, high = typed.loss_interval
            loss = f"{typed.loss:.2f} ({low:.2f}–{high:.2f})"
            rows.append([label, typed.way.replace("-", " "), typed.score.shown, loss, f"{typed.changed:,}"])
    header = ["system", "noise", "chrF", "loss", "changed"]
    return Table(header=header, rows=rows, text_columns=2, title=sets[0].test_set)


def significance_table(comparison: SystemComparison) -> Table:
    """Return the results of all significance tests of a comparison."""
    rows = []
    for test in comparison.tests:
        metric = f"{test.metric} (lower is better)" if test.metric in LOWER_IS_BETTER else test.metric
        for result in test.systems:
            label = excerpt(result.system, MAX_LABEL)
            cells = [show_value(test.metric, result.score), shown_interval(test, result)]
            cells += [shown_difference(result), shown_p_value(result)]
            rows.append([test.normalization, metric, METHODS[test.method], label, *cells])
    sentence_count = count_sentences(comparison.sentences, comparison.left_out)
    return Table(
        header=["text", "metric", "test", "system", "score", "mean ± half 95% CI", "difference", "p"],
        rows=rows,
        text_columns=4,
        title=f"{comparison.test_set}, {sentence_count}, against {comparison.systems[0]}",
        facts=[(f"{test.metric}, {METHODS[test.method]}", test.signature) for test in comparison.tests],
    )


def shown_interval(test: PairedTest, result: SystemResult) -> str:
    """Return the mean score of the resamples, and half the width of their 95% interval."""
    if result.mean is None or result.half_interval is None:
        return NO_VALUE
    return f"{show_value(test.metric, result.mean)} ± {show_value(test.metric, result.half_interval)}"


def shown_difference(result: SystemResult) -> str:
    """Return the difference from the baseline, which has none itself."""
    return NO_VALUE if result.p_value is None else f"{result.difference:+.2f}"


def shown_p_value(result: SystemResult) -> str:
    """Return the p-value of the difference from the baseline, which has none itself."""
    return NO_VALUE if result.p_value is None else f"{result.p_value:.4f}"


def count_sentences(sentences: int, left_out: Sequence[int]) -> str:
    """Return the number of scored sentences, with a note on the lines, from 1, that are not scored."""
    note = left_out_note(sentences, left_out)
    return f"{sentences:,} sentences" + (f", {note}" if note else "")
