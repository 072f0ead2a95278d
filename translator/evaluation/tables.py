"""Tables of an evaluation, for a terminal, for its page, and for papers: as text, Markdown, LaTeX or CSV."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from typing import Final, Literal, NamedTuple

from tabulate import tabulate

from translator.config import MetricName
from translator.corpus.held_out import HeldOutSet, left_out_note
from translator.evaluation.compare import SystemComparison
from translator.evaluation.metrics import LOWER_IS_BETTER, Score, show_value
from translator.evaluation.mistakes import MEANINGS
from translator.evaluation.results import ScoredSet
from translator.evaluation.significance import METHODS, SystemResult
from translator.evaluation.text_variants import RAW
from translator.run.text import excerpt, text_table
from translator.subword.glossary import Glossary

Form = Literal["text", "markdown", "latex", "csv"]
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]<>#|&~$!]")  # characters special to Markdown or HTML
_BIDI_CONTROL: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_MAX_LABEL: Final = 40  # characters of the name of a system
_MAX_TITLE: Final = 300
_NO_VALUE: Final = "–"
_P_VALUES: Final = (
    f"p (bs): {METHODS['bootstrap']}; p (ar): {METHODS['randomisation']}",
    "p: probability that chance gives a difference at least as large; it does not say how much the systems differ",
)


class Table(NamedTuple):
    """A table, which every form shows with the same cells."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: int = 1  # from the left; the others hold numbers
    notes: Sequence[str] = ()  # what the columns mean, and the signatures of the scores


# --- the tables ---


def evaluation_tables(systems: Mapping[str, ScoredSet], comparison: SystemComparison | None = None) -> list[Table]:
    """Return the tables of one test set that have rows: scores, noisy input, significance, mistakes, and sources.

    Args:
        systems: the test set as each system translated it, by the name of the system.
        comparison: of these systems, if there are several.
    """
    tables = [score_table({name: scored.scores for name, scored in systems.items()}), noise_table(systems)]
    if comparison is not None:
        tables += significance_tables(comparison)
    tables += [mistake_table(systems), source_table(systems)]
    return [table for table in tables if table.rows]


def score_table(scores_of_systems: Mapping[str, Sequence[Score]]) -> Table:
    """Return the scores of one test set: a row for each metric and system, a column for each text form.

    Args:
        scores_of_systems: at least one score of each system by its name; the name of a single system is not shown.
    """
    # 1. Make the rows. A metric may lack a score on some texts: an external one has one on raw text only.
    all_scores = list(chain.from_iterable(scores_of_systems.values()))
    forms = {short_form(score.normalization): score.normalization for score in all_scores}
    rows = []
    for metric in dict.fromkeys(score.metric for score in all_scores):
        for system, scores in scores_of_systems.items():
            shown = {short_form(score.normalization): score.shown for score in scores if score.metric == metric}
            rows.append([metric, excerpt(system, _MAX_LABEL), *(shown.get(form, "") for form in forms)])
    header = ["metric", "system", *forms]

    # 2. Name a single system in the title, several below the table.
    first = all_scores[0]
    names = [first.test_set]
    notes = []
    if len(scores_of_systems) == 1:
        header, *rows = [[row[0], *row[2:]] for row in (header, *rows)]
        names.append(str(first.label))
    else:
        notes += [f"{system}: {scores[0].label}" for system, scores in scores_of_systems.items()]
    if first.interval is not None:
        notes.append("in brackets: 95% bootstrap interval")
    notes += [f"{form}: {normalization}" for form, normalization in forms.items() if form != normalization]
    notes += dict.fromkeys(f"signature of {score.metric}: {score.signature}" for score in all_scores)
    return Table(
        title=", ".join([*filter(None, names), count_sentences(first.sentences, first.left_out)]),
        header=header,
        rows=rows,
        text_columns=len(header) - len(forms),
        notes=notes,
    )


def short_form(normalization: str) -> str:
    """Return a short name of the form of a text in which it is scored."""
    if normalization == RAW:
        return RAW
    return "ZWNJ as space" if "ZWNJ as space" in normalization else "normalized"


def mistake_table(systems: Mapping[str, ScoredSet]) -> Table:
    """Return the counts of each mistake, like `3 of 20 (15.0%)`, with a column for each system."""
    rows = [[shown_name(name)] for name in MEANINGS]
    for scored in systems.values():
        for row, counts in zip(rows, scored.mistake_counts.values(), strict=True):
            count, possible = counts["count"], counts["of"]
            row.append(f"{count:,} of {possible:,} ({count / possible:.1%})" if possible else _NO_VALUE)
    return Table(
        title=f"{_name_of_set(systems)}: sentences with mistakes",
        header=["mistake", *_columns(systems, "sentences")],
        rows=rows,
        notes=[f"{shown_name(name)}: {meaning}" for name, meaning in MEANINGS.items()],
    )


def shown_name(name: str) -> str:
    """Return the name of a mistake as text."""
    return name.replace("_", " ")


def source_table(systems: Mapping[str, ScoredSet]) -> Table:
    """Return BLEU and chrF of each source of the corpus, a column for each metric and system."""
    first = next(iter(systems.values()))
    rows = []
    for source, scores in first.scores_by_source.items():
        row = [source, f"{first.text.origins.count(source):,}"]
        for metric in scores:
            row += [show_value(metric, scored.scores_by_source[source][metric]) for scored in systems.values()]
        rows.append(row)
    columns = []
    for heading in ("BLEU", "chrF"):
        columns += [f"{heading} {name}".strip() for name in _columns(systems, "")]
    return Table(
        title=f"{_name_of_set(systems)}: raw text by source", header=["source", "sentences", *columns], rows=rows
    )


def noise_table(systems: Mapping[str, ScoredSet]) -> Table:
    """Return the chrF loss of each system under each noise, below the score of the original text."""
    rows = []
    for name, scored in systems.items():
        if not scored.noise:
            continue
        label = excerpt(name, _MAX_LABEL)
        for score in scored.scores:
            if score.metric == "chrf" and score.normalization == RAW:
                rows.append([label, "none", score.shown, "", "", ""])
        for noisy in scored.noise:
            numbers = [noisy.score.shown, f"{noisy.loss:.2f}", f"{noisy.p_value:.4f}", f"{noisy.changed:,}"]
            rows.append([label, noisy.way.replace("-", " "), *numbers])
    return Table(
        title=f"{_name_of_set(systems)} with noisy input",
        header=["system", "noise", "chrF", "loss", "p", "changed"],
        rows=rows,
        text_columns=2,
        notes=["changed: sentences that the model reads differently"],
    )


def glossary_table(systems: Mapping[str, ScoredSet], glossary: Glossary) -> Table:
    """Return how many terms of the sources have the translation that the glossary demands, for each system."""
    row = ["terms"]
    for scored in systems.values():
        counts = [glossary.kept(*pair) for pair in zip(scored.text.sources, scored.hypotheses, strict=True)]
        preserved, demanded = (sum(column) for column in zip(*counts, strict=True))
        row.append(f"{preserved:,} of {demanded:,} ({preserved / demanded:.1%})" if demanded else _NO_VALUE)
    return Table(
        title=f"{_name_of_set(systems)}: terms of the glossary with their translation",
        header=["", *_columns(systems, "kept")],
        rows=[row] if glossary.terms else [],
    )


def significance_tables(comparison: SystemComparison) -> list[Table]:
    """Return a table for each text form, with a row for each metric and system."""
    text = comparison.baseline.text
    sentence_count = count_sentences(len(text.sources), text.left_out)
    baseline = excerpt(next(iter(comparison.sets)), _MAX_LABEL)
    counts = []
    for system in comparison.compared:
        sentences = comparison.count_sentences(system)
        numbers = f"{sentences['wins']:,} better, {sentences['losses']:,} worse, {sentences['ties']:,} alike"
        counts.append(f"{excerpt(system, _MAX_LABEL)} against {baseline} by sentence (chrF, raw): {numbers}")
    tables = []
    for normalization, tests in groupby(comparison.tests, key=lambda test: test.normalization):
        rows = []
        notes = ["mean ± half CI: of the bootstrap resamples, with their 95% interval", *_P_VALUES]
        for metric, tests_of_metric in groupby(tests, key=lambda test: test.metric):
            bootstrap, randomisation = tests_of_metric  # in the order of `METHODS`
            for resampled, exchanged in zip(bootstrap.systems, randomisation.systems, strict=True):
                rows.append([metric, excerpt(resampled.system, _MAX_LABEL), *_test_cells(metric, resampled, exchanged)])
            notes.append(f"signature of {metric}: {bootstrap.signature}")
            notes.append(f"signature of {metric}, p (ar): {randomisation.signature}")
            if metric in LOWER_IS_BETTER:
                notes.append(f"lower is better: {metric}")
        table = Table(
            title=f"{text.name}: {sentence_count}; differences and p-values against {baseline}; text: {normalization}",
            header=["metric", "system", "score", "mean ± half CI", "difference", "p (bs)", "p (ar)"],
            rows=rows,
            text_columns=2,
            notes=[*notes, *counts],
        )
        tables.append(table)
    return tables


def _test_cells(metric: MetricName, resampled: SystemResult, exchanged: SystemResult) -> list[str]:
    """Return score, mean, difference and p-values of one system by both methods."""
    assert resampled.mean is not None and resampled.half_interval is not None
    mean = f"{show_value(metric, resampled.mean)} ± {show_value(metric, resampled.half_interval)}"
    if resampled.p_value is None or exchanged.p_value is None:  # the baseline
        return [show_value(metric, resampled.score), mean, _NO_VALUE, _NO_VALUE, _NO_VALUE]
    p_values = [f"{resampled.p_value:.4f}", f"{exchanged.p_value:.4f}"]
    return [show_value(metric, resampled.score), mean, f"{resampled.difference:+.2f}", *p_values]


def count_sentences(sentences: int, left_out: Sequence[int]) -> str:
    """Return the number of scored sentences, with a note on the lines, from 1, that are not scored."""
    note = left_out_note(sentences, left_out)
    return f"{sentences:,} sentences" + (f", {note}" if note else "")


def _name_of_set(systems: Mapping[str, ScoredSet]) -> str:
    text: HeldOutSet = next(iter(systems.values())).text
    return text.name


def _columns(systems: Mapping[str, ScoredSet], single: str) -> list[str]:
    """Return a heading for each system; `single` is that of a single one."""
    return [excerpt(name, _MAX_LABEL) for name in systems] if len(systems) > 1 else [single]


# --- their forms ---


def format_tables(tables: Iterable[Table], form: Form = "text") -> list[str]:
    """Return the tables as lines, and below them, once, their notes."""
    lines: list[str] = []
    notes: dict[str, None] = {}
    for table in tables:
        lines += [*_format_table(table, form), ""]
        notes.update(dict.fromkeys(table.notes))
    return [*lines, *(_format_note(note, form) for note in notes)]


def _format_table(table: Table, form: Form) -> list[str]:
    """Return the title and the table as lines."""
    title = excerpt(table.title, _MAX_TITLE)
    match form:
        case "text":
            shown = text_table(table.header, table.rows, text_columns=table.text_columns)
            return [title, *shown.split("\n")]
        case "csv":
            return [_csv_line(row) for row in ([title], table.header, *table.rows)]
        case "markdown":
            header, *rows = [[escape_markdown(cell) for cell in row] for row in (table.header, *table.rows)]
            return [f"**{escape_markdown(title)}**", "", *_tabulate(header, rows, "pipe", table.text_columns)]
        case "latex":
            lines = _tabulate(table.header, table.rows, "latex_booktabs", table.text_columns)
            return [_format_note(title, form), *lines]


def _tabulate(header: Sequence[str], rows: Sequence[Sequence[str]], style: str, text_columns: int) -> list[str]:
    """Return a table in a style of tabulate as lines."""
    alignments = ["left"] * text_columns + ["right"] * (len(header) - text_columns)
    return tabulate(rows, header, tablefmt=style, disable_numparse=True, colalign=alignments).split("\n")


def _format_note(note: str, form: Form) -> str:
    """Return a note as a line; in LaTeX it is a comment."""
    match form:
        case "text":
            return note
        case "csv":
            return _csv_line([note])
        case "markdown":
            return f"- {escape_markdown(note)}"
        case "latex":
            return f"% {note}"


def escape_markdown(text: str) -> str:
    """Return `text` on one line, with characters special to Markdown or HTML as entities."""
    line = " ".join(_BIDI_CONTROL.sub("", text).split())
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", line)


def _csv_line(cells: Sequence[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(cells)
    return stream.getvalue()
