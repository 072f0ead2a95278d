"""Reports on an evaluation: tables for a terminal, and report.html with every sentence."""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from markupsafe import Markup

import translator
from translator.corpus.held_out import left_out_note
from translator.evaluation.compare import METHODS, SystemComparison
from translator.evaluation.diagnosis import MEANINGS, PART_METRICS, Diagnosis
from translator.evaluation.metrics import LOWER_IS_BETTER, RAW, Score, sentence_chrf, show_value
from translator.evaluation.results import ScoredSet, distinct_labels
from translator.run.pages import page_script, render_page, visible
from translator.run.text import excerpt, is_persian, text_table

MOST_SENTENCES: Final = 5000  # per test set in the page; more make a browser slow
_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]<>#|&~$!]")
_BIDI_CONTROLS: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_WORD: Final = re.compile(r"[\w\u0300-\u036f\u064b-\u065f\u0670\u200c]+|[^\w\s]")  # a word with its marks, or a sign
_LABEL, _TEXT = 40, 200  # characters of the longest label and sentence in a terminal


class TranslatedPair(NamedTuple):
    """One sentence pair with the model's translation."""

    source: str
    reference: str
    hypothesis: str


# --- tables ---


class Table(NamedTuple):
    """A table for a terminal, for Markdown or, by the template of report.html, for a page."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: int = 1  # from the left; the others hold numbers
    title: str = ""
    facts: Sequence[tuple[str, str]] = ()  # names and signatures, which a page shows on request

    def lines(self) -> list[str]:
        """Return header, rule and rows, without the title; nothing if there are no rows."""
        return text_table(self.header, self.rows, text_columns=self.text_columns).split("\n") if self.rows else []

    def markdown(self) -> str:
        """Return header and rows as Markdown; the cells must be Markdown."""
        return "\n".join("| " + " | ".join(row) + " |" for row in [self.header, ["---"] * len(self.header), *self.rows])


def score_table(header: Sequence[str], scores: Iterable[tuple[tuple[str, ...], Score]]) -> Table:
    """Return a table of scores with a column for each normalization; `header` names the columns on the left."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    facts: dict[tuple[str, str], None] = {}
    for left, one in scores:
        rows.setdefault(left, {}).setdefault(one.normalization, one.shown)
        facts[one.metric, one.signature] = None
    texts = dict.fromkeys(text for row in rows.values() for text in row)
    cells = [(*left, *(row.get(text, "") for text in texts)) for left, row in rows.items()]
    return Table([*header, *texts], cells, len(header), facts=list(facts))


def finding_table(diagnoses: Sequence[Diagnosis], labels: Sequence[str]) -> Table:
    """Return counts of each mistake, like `3 of 20 (15.0%)`, with a column for each system."""
    counts = [one.counts() for one in diagnoses]
    rows = []
    for name in (name for name in MEANINGS if any(name in one for one in counts)):
        cells = []
        for one, found in zip(diagnoses, counts, strict=True):
            of = one.possible.get(name, 0)
            cells.append(f"{found[name]:,} of {of:,} ({found[name] / of:.1%})" if of else "–")
        rows.append([name.replace("_", " "), *cells])
    return Table(["finding", *labels], rows, title=diagnoses[0].test_set)


def robustness_table(sets: Sequence[ScoredSet], labels: Sequence[str]) -> Table:
    """Return the chrF loss of each system under each noise, below the score of the original text."""
    rows = []
    for one, label in zip(sets, labels, strict=True):
        plain = [score for score in one.scores if one.typed and (score.metric, score.normalization) == ("chrf", RAW)]
        rows += [[label, "original", score.shown, "", "", ""] for score in plain]
        for typed in one.typed:
            interval = " to ".join(f"{bound:.2f}" for bound in typed.loss_interval)
            changed = f"{typed.changed:,}"
            rows.append([label, typed.way.replace("-", " "), typed.score.shown, f"{typed.loss:.2f}", interval, changed])
    columns = ["system", "noise", "chrF", "loss", "95% of the loss", "changed sentences"]
    return Table(columns, rows, 2, sets[0].test_set)


def part_table(diagnoses: Sequence[Diagnosis], labels: Sequence[str]) -> Table:
    """Return the scores of the parts of a test set, a column for each metric and system."""
    systems = [{part[:2]: part for part in one.parts} for one in diagnoses]
    rows = []
    for key in dict.fromkeys(key for parts in systems for key in parts):
        sentences = next(parts[key].sentences for parts in systems if key in parts)
        cells = [show_value(metric, parts[key].scores[metric]) if key in parts else "–"
                 for metric in PART_METRICS for parts in systems]  # fmt: skip
        rows.append([*key, f"{sentences:,}", *cells])
    columns = [f"{metric} {label}".strip() for metric in PART_METRICS for label in labels]
    return Table(["by", "part", "sentences", *columns], rows, 2, diagnoses[0].test_set)


def test_table(comparison: SystemComparison) -> Table:
    """Return the results of all significance tests of a comparison."""
    rows = []
    for test in comparison.tests:
        metric = f"{test.metric} (lower is better)" if test.metric in LOWER_IS_BETTER else test.metric
        for one in test.systems:
            mean, half = (None if x is None else show_value(test.metric, x) for x in (one.mean, one.half_interval))
            difference = ("–", "–") if one.p_value is None else (f"{one.difference:+.2f}", f"{one.p_value:.4f}")
            values = show_value(test.metric, one.score), f"{mean} ± {half}" if mean else "–", *difference
            rows.append([test.normalization, metric, METHODS[test.method], excerpt(one.system, _LABEL), *values])
    header = ["text", "metric", "test", "system", "score", "mean ± half 95% CI", "difference", "p"]
    facts = [(f"{test.metric}, {METHODS[test.method]}", test.signature) for test in comparison.tests]
    counted = _counted(comparison.sentences, comparison.left_out)
    title = f"{comparison.test_set}, {counted}, against {comparison.systems[0]}"
    return Table(header, rows, 4, title, facts)


def _counted(sentences: int, left_out: Sequence[int]) -> str:
    """Return the number of scored sentences, with a note on lines that are not scored."""
    note = left_out_note(sentences, left_out)
    return f"{sentences:,} sentences" + (f", {note}" if note else "")


# --- output for a terminal ---


def format_scores(scores: Sequence[Score]) -> list[str]:
    """Return the scores of one system as lines, with signatures; scores are comparable only if these are equal."""
    keys = [((one.test_set, one.metric, one.search, one.checkpoint), one) for one in scores]
    table = score_table(("test set", "metric", "search", "checkpoint"), keys)
    notes = ["in brackets: 95% bootstrap interval"] if any(one.interval for one in scores) else []
    incomplete = {score.test_set: left_out_note(score.sentences, score.left_out) for score in scores if score.left_out}
    notes += map(": ".join, incomplete.items())
    return [*table.lines(), *notes, *map(": ".join, table.facts)]


def format_diagnosis(diagnosis: Diagnosis, system: str = "") -> list[str]:
    """Return the tables of mistakes and of parts as lines; `system` replaces the name of the system."""
    details = [one for one in (diagnosis.checkpoint, diagnosis.search) if one not in system.split()]
    title = f"Diagnosis of {excerpt(', '.join([diagnosis.test_set, system or diagnosis.system, *details]), 300)}"
    tables = finding_table([diagnosis], ["sentences"]), part_table([diagnosis], [""])
    return [title, *tables[0].lines(), "", *tables[1].lines()]


def format_robustness(scored: ScoredSet, label: str) -> list[str]:
    """Return the chrF loss under each noise as lines; nothing if it was not measured."""
    if not scored.typed:
        return []
    title = f"{scored.test_set} with noisy input"
    return ["", title, *robustness_table([scored], [excerpt(label, _LABEL)]).lines()]


def format_samples(samples: Sequence[TranslatedPair]) -> list[str]:
    """Return the first three of `samples`, each on three lines."""
    return [
        f"\n  source     {excerpt(one.source, 500)}\n  reference  {excerpt(one.reference, 500)}"
        f"\n  translated {excerpt(one.hypothesis, 500)}"
        for one in samples[:3]
    ]


def format_comparison(comparison: SystemComparison) -> list[str]:
    """Return tables of tests, findings and parts, then wins, losses and the largest differences."""
    labels = [excerpt(label, _LABEL) for label in comparison.systems]
    lines = [
        f"{excerpt(comparison.test_set, _LABEL)}: {_counted(comparison.sentences, comparison.left_out)}; "
        f"differences and p-values against {labels[0]}"
    ]
    tests = test_table(comparison)
    for table in (tests, finding_table(comparison.diagnoses, labels), part_table(comparison.diagnoses, labels)):
        lines += ["", *table.lines()]
    lines += ["", *map(": ".join, tests.facts)]
    for label, one in zip(labels[1:], comparison.by_sentence, strict=True):
        counts = f"{one.wins:,} better, {one.losses:,} worse, {one.ties:,} alike"
        lines += ["", f"{label} against {labels[0]} by sentence (chrF, raw): {counts}"]
        for how, differences in (("better", one.better), ("worse", one.worse)):
            lines += ["", f"sentences for which {label} is {how} by most:"] if differences else []
            for each in differences:
                chrf = f"chrF {each.system_chrf:.1f}, of {labels[0]} {each.baseline_chrf:.1f}"
                texts = [("source    ", each.source), *(("reference ", text) for text in each.references)]
                texts += [(f"{labels[0]}:", each.baseline), (f"{label}:", each.system)]
                lines += [f"  sentence {each.sentence:,}: {chrf}"]
                lines += [f"    {name} {excerpt(text, _TEXT)}" for name, text in texts]
    return lines


def plain(text: str) -> str:
    """Return `text` on one line, with characters special to Markdown or HTML as entities."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", " ".join(_BIDI_CONTROLS.sub("", text).split()))


def isolated(text: str, like: str | None = None) -> str:
    """Return `plain` text, isolated as right-to-left if it, or the text `like`, is Persian."""
    # Uses Unicode isolates, since TensorBoard removes the `dir` attribute of HTML.
    return f"\u2067{plain(text)}\u2069" if is_persian(like or text) else plain(text)


# --- the page ---


def evaluation_page(
    title: str,
    sets: Sequence[ScoredSet],
    diagnoses: Sequence[Diagnosis],
    comparisons: Sequence[SystemComparison] = (),
    missing: Sequence[str] = (),
) -> str:
    """Return a self-contained HTML page with all texts escaped; `missing` lists metrics that were not computed."""
    rows = list(zip(distinct_labels(sets), sets, diagnoses, strict=True))
    tests = {name: [row for row in rows if row[1].test_set == name] for name in dict.fromkeys(s.test_set for s in sets)}
    scores, findings, parts, typed = [], [], [], []
    for test, systems in tests.items():
        labels, found = [row[0] for row in systems], [row[2] for row in systems]
        every = [(score.metric, label, score) for label, one, _ in systems for score in one.scores]
        keys = [((metric, label), score) for first in dict.fromkeys(metric for metric, *_ in every)
                for metric, label, score in every if metric == first]  # fmt: skip
        named = f"{test}, {_counted(len(systems[0][1].sources), systems[0][1].left_out)}"
        scores.append(score_table(("metric", "system"), keys)._replace(title=named))
        findings.append(finding_table(found, labels))
        parts.append(part_table(found, labels))
        typed.append(robustness_table([row[1] for row in systems], labels))
    wins = [f"{one.system} on {of.test_set}, by sentence (chrF): {one.wins:,} better, {one.ties:,} alike, "
            f"{one.losses:,} worse" for of in comparisons for one in of.by_sentence]  # fmt: skip
    called = dict.fromkeys(f"{label}: {one.checkpoint}, {one.search}" for label, one, _ in rows)
    meanings = [f"{name.replace('_', ' ')}: {meaning}" for name, meaning in MEANINGS.items()]
    # Identity, heading, introduction, tables and lines below them.
    sections: list[tuple[str, str, str, Sequence[Table], Sequence[str]]] = [
        ("scores", "Scores", "By sacreBLEU, with 95% bootstrap intervals. Two scores are comparable only if their "
         "signatures are equal.", scores, [*called, *(f"not computed: {one}" for one in missing)]),
        ("parts", "Parts of the test sets", "On raw text. Scores of few sentences vary widely.",
         [table for table in parts if table.rows], ()),
        ("robustness", "Noisy input", "The same sentences with noise, such as typos, and the same references. The "
         "loss is the difference from the original text.", [table for table in typed if table.rows], ()),
        ("comparisons", "Comparisons", "Each system against the first. A p-value is the probability that chance gives "
         "a difference at least as large; it does not measure how much the systems differ.",
         list(map(test_table, comparisons)), wins),
        ("findings", "Findings", "Mistakes that can be counted automatically, with the number of "
         "sentences in which they could occur.", findings, meanings),
    ]  # fmt: skip
    sections = [one for one in sections if one[3]]
    sentences = [one for number, systems in enumerate(tests.values(), 1) for one in _sentences(number, systems)]
    return render_page(
        "evaluation.html.j2",
        title=title,
        sections=[*(one[:2] for one in sections), ("sentences", "Sentences")],
        parts=sections,
        sentences=sentences,
        not_shown=sum(max(0, len(systems[0][1].sources) - MOST_SENTENCES) for systems in tests.values()),
        tests=list(tests),
        several=len({label for label, _, _ in rows}) > 1,
        findings=sorted({name for one in sentences for name in one["findings"]}),
        script=page_script("sentences.js"),
        version=translator.__version__,
    )


_WRITTEN: Final = (Markup('lang="en" dir="ltr"'), Markup('lang="fa" dir="rtl"'))


def _sentences(test_number: int, systems: Sequence[tuple[str, ScoredSet, Diagnosis]]) -> Iterator[dict[str, Any]]:
    first = systems[0][1]
    chrf = [sentence_chrf(one.hypotheses, one.references) for _, one, _ in systems]
    for place, source in enumerate(first.sources[:MOST_SENTENCES]):
        references, ours = first.references[place], [first.hypotheses[place]]
        scores = [of_system[place] for of_system in chrf]
        translations = []
        notes: dict[str, list[str]] = {}
        for (label, one, diagnosis), score in zip(systems, scores, strict=True):
            model = one.hypothesis_scores[place].normalized_score if one.hypothesis_scores else None
            told = f"chrF {score:.1f}" + ("" if model is None else f", model score {model:.3f}")
            translations.append((label, mark_differences(one.hypotheses[place], references, "ins"), told))
            for name, mark in diagnosis.marks[place].items():
                notes.setdefault(name.replace("_", " "), []).append(mark.note)
        yield {
            "identity": f"s-{test_number}-{place + 1}",
            "test_set": first.test_set,
            "number": place + 1,
            "source": source,
            "written": [_WRITTEN[is_persian(text)] for text in (source, first.references[place][0])],
            "references": [
                visible(text) if systems[1:] else mark_differences(text, ours, "del") for text in references
            ],
            "translations": translations,
            "findings": {name: " / ".join(of_systems) for name, of_systems in notes.items()},
            "chrf": scores[0],
            "gain": scores[-1] - scores[0],
            "words": len(source.split()),
        }


def mark_differences(text: str, others: Sequence[str], tag: str) -> Markup:
    """Return `text` as HTML; words that are not in the most similar of `others` are in elements `tag`."""
    words = list(_WORD.finditer(text))
    own = [word[0] for word in words]
    matchers = [SequenceMatcher(None, own, _WORD.findall(other), autojunk=False) for other in others]
    parts, end = [], 0
    for operation, start, stop, _, _ in max(matchers, key=SequenceMatcher.ratio).get_opcodes():
        if operation in ("delete", "replace"):
            parts.append(visible(text[end : words[start].start()]))
            end = words[stop - 1].end()
            parts.append(Markup(f"<{tag}>{{}}</{tag}>").format(visible(text[words[start].start() : end])))
    return Markup("").join([*parts, visible(text[end:])])
