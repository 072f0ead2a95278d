"""Tables of an evaluation, for a terminal, for its page, and for papers: as text, Markdown, LaTeX or CSV."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from typing import Final, Literal, NamedTuple

from tabulate import tabulate

from translator.corpus.held_out import left_out_note
from translator.evaluation.compare import SystemComparison
from translator.evaluation.metrics import LOWER_IS_BETTER, Score, compute_scores, show_score, show_value
from translator.evaluation.mistakes import MEANINGS
from translator.evaluation.results import ScoredSet
from translator.evaluation.text_variants import RAW
from translator.run.text import excerpt, text_table
from translator.subword.glossary import Glossary

Form = Literal["text", "markdown", "latex", "csv"]
_TABULATE_STYLES: Final = {"markdown": "pipe", "latex": "latex_booktabs"}
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]<>#|&~$!]")  # characters special to Markdown or HTML
_BIDI_CONTROL: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_MAX_LABEL: Final = 40  # characters of the name of a system
_MAX_TITLE: Final = 300  # characters
_NO_VALUE: Final = "–"
_IN_BRACKETS: Final = "in brackets: 95% bootstrap interval"
_P_VALUES: Final = (
    "p (bs): paired bootstrap; p (ar): paired approximate randomisation",
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


def evaluation_tables(
    comparison: SystemComparison, noise: Sequence[SystemComparison] = (), glossary: Glossary | None = None
) -> list[Table]:
    """Return the tables of one test set: scores, significance, scores by source, mistakes, and kept terms.

    Args:
        comparison: of all systems on the test set.
        noise: comparisons of plain and noisy input; those of other test sets are left out.
        glossary: terms to count; None: there is no table of terms.
    """
    systems = comparison.sets
    tables = [score_table({system: scored.scores for system, scored in systems.items()})]
    tables += significance_tables(comparison)
    for noise_comparison in noise:
        if noise_comparison.test_set == comparison.test_set:
            tables += significance_tables(noise_comparison)
    if len(set(comparison.baseline.text.origins)) > 1:
        tables.append(source_table(systems))
    tables.append(mistake_table(systems))
    if glossary is not None:
        tables.append(glossary_table(systems, glossary))
    return tables


def score_table(scores_of_systems: Mapping[str, Sequence[Score]]) -> Table:
    """Return the scores of one test set: a row for each metric and system, a column for each text form.

    Args:
        scores_of_systems: at least one score of each system by its name; the name of a single system is not shown.
    """
    # 1. Make the rows. A cell is empty if a metric has no score on that form: external metrics score raw text only.
    all_scores = list(chain.from_iterable(scores_of_systems.values()))
    forms = {short_form(score.normalization): score.normalization for score in all_scores}
    rows = []
    for metric in dict.fromkeys(score.metric for score in all_scores):
        for system, scores in scores_of_systems.items():
            shown = {short_form(score.normalization): score.shown for score in scores if score.metric == metric}
            cells = [shown.get(form, "") for form in forms]
            rows.append([metric, excerpt(system, _MAX_LABEL), *cells])
    header = ["metric", "system", *forms]

    # 2. Name the checkpoint and search of each system: of a single system in the title, and its column of names is
    # removed; of several systems in notes below the table.
    first = all_scores[0]
    title = first.test_set
    notes = []
    if len(scores_of_systems) == 1:
        for row in (header, *rows):
            del row[1]  # the column of names
        title += f", {first.label}"
    else:
        notes += [f"{system}: {scores[0].label}" for system, scores in scores_of_systems.items()]
    if first.interval is not None:
        notes.append(_IN_BRACKETS)
    notes += [f"{form}: {normalization}" for form, normalization in forms.items() if form != normalization]
    notes += dict.fromkeys(  # without duplicates
        f"signature of {score.metric}: {score.signature}" for score in all_scores
    )
    return Table(
        title=f"{title}, {_count_sentences(first.sentences, first.left_out)}",
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


def source_table(systems: Mapping[str, ScoredSet]) -> Table:
    """Return the chrF of the sentences of each source of the corpus, on raw text."""
    text = next(iter(systems.values())).text
    rows = []
    for source in dict.fromkeys(text.origins):
        numbers = [number for number, origin in enumerate(text.origins) if origin == source]
        references = [text.references[number] for number in numbers]
        row = [f"{source}, {len(numbers):,} sentences"]
        for scored in systems.values():
            hypotheses = [scored.hypotheses[number] for number in numbers]
            _, chrf = compute_scores(hypotheses, references, metrics=("chrf",))  # BLEU is always the first
            row.append(show_value("chrf", chrf.score))
        rows.append(row)
    return _table_by_system("raw text by source", systems, rows, unit="chrF")


def mistake_table(systems: Mapping[str, ScoredSet]) -> Table:
    """Return the counts of each mistake, like `3 of 20 (15.0%)`, with a column for each system."""
    rows = []
    for name in MEANINGS:
        counts = [scored.mistake_counts[name] for scored in systems.values()]
        rows.append([shown_name(name), *(_share(count["count"], count["of"]) for count in counts)])
    return _table_by_system(
        "sentences with mistakes",
        systems,
        rows,
        notes=[f"{shown_name(name)}: {meaning}" for name, meaning in MEANINGS.items()],
    )


def shown_name(name: str) -> str:
    """Return the name of a mistake as text."""
    return name.replace("_", " ")


def glossary_table(systems: Mapping[str, ScoredSet], glossary: Glossary) -> Table:
    """Return how many terms of the sources have the translation that the glossary demands, for each system."""
    row = ["terms"]
    for scored in systems.values():
        counts = [glossary.kept(*pair) for pair in zip(scored.text.sources, scored.hypotheses, strict=True)]
        preserved, demanded = (sum(column) for column in zip(*counts, strict=True))
        row.append(_share(preserved, demanded))
    return _table_by_system("terms of the glossary with their translation", systems, [row])


def _share(count: int, total: int) -> str:
    return f"{count:,} of {total:,} ({count / total:.1%})" if total else _NO_VALUE


def _table_by_system(
    title: str,
    systems: Mapping[str, ScoredSet],
    rows: Sequence[Sequence[str]],
    notes: Sequence[str] = (),
    unit: str = "sentences",
) -> Table:
    """Return a table on a test set with a column for each system; a single column has the name of the unit."""
    (test_set,) = {scored.text.name for scored in systems.values()}
    columns = [excerpt(name, _MAX_LABEL) for name in systems] if len(systems) > 1 else [unit]
    return Table(title=f"{test_set}: {title}", header=["", *columns], rows=rows, notes=notes)


def significance_tables(comparison: SystemComparison) -> list[Table]:
    """Return a table for each text form, with a row for each metric and system."""
    # 1. What all tables have: the title, and the notes that count sentences.
    text = comparison.baseline.text
    labels = {system: excerpt(system, _MAX_LABEL) for system in comparison.sets}
    baseline = next(iter(labels.values()))
    title = f"{text.name}: {_count_sentences(len(text.sources), text.left_out)}; "
    title += f"differences and p-values against {baseline}; text: "
    sentence_notes = []
    for system in comparison.compared:
        sentences = comparison.count_sentences(system)
        numbers = f"{sentences['wins']:,} better, {sentences['losses']:,} worse, {sentences['ties']:,} alike"
        sentence_notes.append(f"{labels[system]} against {baseline} by sentence (chrF, raw): {numbers}")

    # 2. A table for each text form. The tests are sorted by normalization, then by metric, as `groupby` demands.
    tables = []
    for normalization, tests in groupby(comparison.tests, key=lambda test: test.normalization):
        rows = []
        notes = [_IN_BRACKETS, *_P_VALUES]
        for metric, tests_of_metric in groupby(tests, key=lambda test: test.metric):
            # Both methods have tested the same systems, in the order of `METHODS`.
            bootstrap, randomisation = tests_of_metric
            for by_bootstrap, by_randomisation in zip(bootstrap.systems, randomisation.systems, strict=True):
                score, interval = show_score(metric, by_bootstrap.score, by_bootstrap.interval).split()
                row = [metric, labels[by_bootstrap.system], score, interval]
                if by_bootstrap.p_value is None:  # the baseline
                    row += [_NO_VALUE] * 3
                else:
                    p_values = (f"{result.p_value:.4f}" for result in (by_bootstrap, by_randomisation))
                    row += [f"{by_bootstrap.difference:+.2f}", *p_values]
                rows.append(row)
            notes.append(f"signature of {metric}: {bootstrap.signature}")
            notes.append(f"signature of {metric}, p (ar): {randomisation.signature}")
            if metric in LOWER_IS_BETTER:
                notes.append(f"lower is better: {metric}")
        table = Table(
            title=title + normalization,
            header=["metric", "system", "score", "interval", "difference", "p (bs)", "p (ar)"],
            rows=rows,
            text_columns=2,
            notes=[*notes, *sentence_notes],
        )
        tables.append(table)
    return tables


def _count_sentences(sentences: int, left_out: Sequence[int]) -> str:
    """Return the number of scored sentences, with a note on the lines, from 1, that are not scored."""
    note = left_out_note(sentences, left_out)
    return f"{sentences:,} sentences" + (f", {note}" if note else "")


# --- their forms ---


def format_tables(tables: Iterable[Table], form: Form = "text") -> list[str]:
    """Return the tables as lines, each below its title; the notes follow all tables, each note once."""
    lines: list[str] = []
    notes: dict[str, None] = {}  # an ordered set
    for table in tables:
        lines += [_format_line(excerpt(table.title, _MAX_TITLE), form), *_format_cells(table, form), ""]
        notes.update(dict.fromkeys(table.notes))
    return [*lines, *(_format_line(note, form) for note in notes)]


def _format_line(line: str, form: Form) -> str:
    """Return a title or a note; in Markdown it is a paragraph, in LaTeX a comment."""
    match form:
        case "text":
            return line
        case "csv":
            return _csv_line([line])
        case "markdown":
            return f"{escape_markdown(line)}\n"
        case "latex":
            return f"% {line}"


def _format_cells(table: Table, form: Form) -> list[str]:
    """Return header and rows as lines."""
    if form == "text":
        return text_table(table.header, table.rows, text_columns=table.text_columns).split("\n")
    rows = [table.header, *table.rows]
    if form == "csv":
        return [_csv_line(row) for row in rows]
    if form == "markdown":
        rows = [list(map(escape_markdown, row)) for row in rows]
    alignments = ["left"] * table.text_columns + ["right"] * (len(table.header) - table.text_columns)
    style = _TABULATE_STYLES[form]
    return tabulate(rows[1:], rows[0], tablefmt=style, disable_numparse=True, colalign=alignments).split("\n")


def escape_markdown(text: str) -> str:
    """Return `text` on one line, with characters special to Markdown or HTML as entities."""
    line = " ".join(_BIDI_CONTROL.sub("", text).split())
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", line)


def _csv_line(cells: Sequence[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(cells)
    return stream.getvalue()
