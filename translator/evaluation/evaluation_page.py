"""report.html: a page with the tables of an evaluation and every sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from markupsafe import Markup

import translator
from translator.evaluation.compare import SystemComparison
from translator.evaluation.diagnosis import Diagnosis
from translator.evaluation.metrics import sentence_chrf
from translator.evaluation.mistakes.checks import CHECKS
from translator.evaluation.results import ScoredSet, distinct_labels
from translator.evaluation.tables import (
    LabelledScore,
    Table,
    count_sentences,
    finding_table,
    part_table,
    robustness_table,
    score_table,
    shown_name,
    significance_table,
)
from translator.evaluation.word_differences import mark_differences
from translator.run.arabic_shaping import is_persian
from translator.run.pages import page_script, render_page, visible

MAX_SENTENCES: Final = 5000  # per test set in the page; more make a browser slow
_ENGLISH_ATTRIBUTES: Final = Markup('lang="en" dir="ltr"')
_PERSIAN_ATTRIBUTES: Final = Markup('lang="fa" dir="rtl"')


class Section(NamedTuple):
    """A section of the page with tables."""

    identity: str  # in links
    heading: str
    introduction: str
    tables: Sequence[Table]
    lines: Sequence[str] = ()  # below the tables


class _SystemResults(NamedTuple):
    """One test set, as one system translated it."""

    label: str
    scored: ScoredSet
    diagnosis: Diagnosis


def evaluation_page(
    title: str,
    sets: Sequence[ScoredSet],
    diagnoses: Sequence[Diagnosis],
    comparisons: Sequence[SystemComparison] = (),
    missing: Sequence[str] = (),
) -> str:
    """Return a self-contained HTML page with all texts escaped.

    Args:
        sets: test sets as translated by each system.
        diagnoses: one for each set.
        comparisons: one for each test set with several systems.
        missing: metrics that were not computed, with the reason.
    """
    # 1. Group the results by test set; each has the systems in the order of `sets`.
    labels = distinct_labels(sets)
    systems_of_test: dict[str, list[_SystemResults]] = {}
    for label, scored, diagnosis in zip(labels, sets, diagnoses, strict=True):
        systems_of_test.setdefault(scored.test_set, []).append(_SystemResults(label, scored, diagnosis))

    # 2. Collect the sections with tables, and the sentences.
    sections = _sections(list(systems_of_test.values()), labels, sets, comparisons, missing)
    sentences: list[SentenceRow] = []
    finding_names: set[str] = set()
    hidden_count = 0
    for test_number, systems in enumerate(systems_of_test.values(), start=1):
        sentences += _sentence_rows(test_number, systems)
        hidden_count += max(0, len(systems[0].scored.sources) - MAX_SENTENCES)
    for sentence in sentences:
        finding_names.update(sentence.findings)

    # 3. Render the page.
    links = [(section.identity, section.heading) for section in sections]
    return render_page(
        "evaluation.html.j2",
        title=title,
        sections=[*links, ("sentences", "Sentences")],
        table_sections=sections,
        sentences=sentences,
        hidden_count=hidden_count,
        test_sets=list(systems_of_test),
        has_several_systems=len(set(labels)) > 1,
        finding_names=sorted(finding_names),
        script=page_script("sentences.js"),
        version=translator.__version__,
    )


# --- the sections with tables ---


def _sections(
    tests: Sequence[Sequence[_SystemResults]],
    labels: Sequence[str],
    sets: Sequence[ScoredSet],
    comparisons: Sequence[SystemComparison],
    missing: Sequence[str],
) -> list[Section]:
    """Return the sections that have tables."""
    # 1. Make a table of each kind for every test set.
    score_tables = [_score_table(systems) for systems in tests]
    finding_tables = []
    part_tables = []
    robustness_tables = []
    for systems in tests:
        test_labels = [system.label for system in systems]
        diagnoses = [system.diagnosis for system in systems]
        finding_tables.append(finding_table(diagnoses, test_labels))
        part_tables.append(part_table(diagnoses, test_labels))
        robustness_tables.append(robustness_table([system.scored for system in systems], test_labels))

    # 2. Describe the systems. A system has one line, whatever the number of test sets.
    systems_lines = dict.fromkeys(
        f"{label}: {scored.checkpoint}, {scored.search}" for label, scored in zip(labels, sets, strict=True)
    )

    # 3. Put tables and text together.
    sections = [
        Section(
            identity="scores",
            heading="Scores",
            introduction="By sacreBLEU, with 95% bootstrap intervals. Two scores are comparable only if their "
            "signatures are equal.",
            tables=score_tables,
            lines=[*systems_lines, *(f"not computed: {reason}" for reason in missing)],
        ),
        Section(
            identity="parts",
            heading="Parts of the test sets",
            introduction="On raw text. Scores of few sentences vary widely.",
            tables=[table for table in part_tables if table.rows],
        ),
        Section(
            identity="robustness",
            heading="Noisy input",
            introduction="The same sentences with noise, such as typos, and the same references. The loss is the "
            "difference from the original text.",
            tables=[table for table in robustness_tables if table.rows],
        ),
        Section(
            identity="comparisons",
            heading="Comparisons",
            introduction="Each system against the first. A p-value is the probability that chance gives a difference "
            "at least as large; it does not measure how much the systems differ.",
            tables=[significance_table(comparison) for comparison in comparisons],
            lines=_win_lines(comparisons),
        ),
        Section(
            identity="findings",
            heading="Findings",
            introduction="Mistakes that can be counted automatically, with the number of sentences in which they "
            "could occur.",
            tables=finding_tables,
            lines=[f"{shown_name(name)}: {check.meaning}" for name, check in CHECKS.items()],
        ),
    ]
    return [section for section in sections if section.tables]


def _score_table(systems: Sequence[_SystemResults]) -> Table:
    """Return the scores of one test set, with the systems of each metric one below the other."""
    scores_of_metric: dict[str, list[LabelledScore]] = {}
    for system in systems:
        for score in system.scored.scores:
            labelled_score = LabelledScore(label=(score.metric, system.label), score=score)
            scores_of_metric.setdefault(score.metric, []).append(labelled_score)
    first_set = systems[0].scored
    sentence_count = count_sentences(len(first_set.sources), first_set.left_out)
    return score_table(
        ("metric", "system"),
        chain.from_iterable(scores_of_metric.values()),
        title=f"{first_set.test_set}, {sentence_count}",
    )


def _win_lines(comparisons: Sequence[SystemComparison]) -> list[str]:
    """Return a line with wins, ties and losses for each system and test set."""
    lines = []
    for comparison in comparisons:
        for sentences in comparison.by_sentence:
            counts = f"{sentences.wins:,} better, {sentences.ties:,} alike, {sentences.losses:,} worse"
            lines.append(f"{sentences.system} on {comparison.test_set}, by sentence (chrF): {counts}")
    return lines


# --- the sentences ---


class ShownTranslation(NamedTuple):
    """A translation on the page."""

    label: str  # of the system
    text: Markup  # with the words that are in no reference marked
    scores: str


@dataclass(frozen=True, kw_only=True)
class SentenceRow:
    """A sentence on the page, with the translations of all systems."""

    identity: str  # in links
    test_set: str
    number: int  # from 1
    source: str
    source_attributes: Markup  # language and direction
    references: list[Markup]  # of a single system: with the words that are not in the translation marked
    target_attributes: Markup
    translations: list[ShownTranslation]
    findings: dict[str, str]  # the notes of all systems by the name of the mistake
    chrf: float  # of the first system
    gain: float  # in chrF, of the last system over the first
    words: int  # of the source


def _sentence_rows(test_number: int, systems: Sequence[_SystemResults]) -> list[SentenceRow]:
    """Return the first `MAX_SENTENCES` sentences of a test set; `test_number` counts the test sets from 1."""
    first_set = systems[0].scored
    chrf_of_systems = [sentence_chrf(system.scored.hypotheses, system.scored.references) for system in systems]
    rows = []
    for place, source in enumerate(first_set.sources[:MAX_SENTENCES]):
        references = first_set.references[place]
        chrf_scores = [scores[place] for scores in chrf_of_systems]
        # Mark what a translation lacks. Words of a reference can be missing in one translation, not in several.
        if len(systems) == 1:
            hypothesis = first_set.hypotheses[place]
            shown_references = [mark_differences(reference, [hypothesis], "del") for reference in references]
        else:
            shown_references = [visible(reference) for reference in references]
        rows.append(
            SentenceRow(
                identity=f"s-{test_number}-{place + 1}",
                test_set=first_set.test_set,
                number=place + 1,
                source=source,
                source_attributes=_language_attributes(source),
                references=shown_references,
                target_attributes=_language_attributes(references[0]),
                translations=_shown_translations(systems, place, chrf_scores),
                findings=_joined_findings(systems, place),
                chrf=chrf_scores[0],
                gain=chrf_scores[-1] - chrf_scores[0],
                words=len(source.split()),
            )
        )
    return rows


def _language_attributes(text: str) -> Markup:
    return _PERSIAN_ATTRIBUTES if is_persian(text) else _ENGLISH_ATTRIBUTES


def _shown_translations(
    systems: Sequence[_SystemResults], place: int, chrf_scores: Sequence[float]
) -> list[ShownTranslation]:
    """Return the translations of the sentence at `place`, from 0, by all systems."""
    references = systems[0].scored.references[place]
    translations = []
    for system, chrf in zip(systems, chrf_scores, strict=True):
        scores = f"chrF {chrf:.1f}"
        if system.scored.hypothesis_scores:
            model_score = system.scored.hypothesis_scores[place].normalized_score
            if model_score is not None:
                scores += f", model score {model_score:.3f}"
        text = mark_differences(system.scored.hypotheses[place], references, "ins")
        translations.append(ShownTranslation(label=system.label, text=text, scores=scores))
    return translations


def _joined_findings(systems: Sequence[_SystemResults], place: int) -> dict[str, str]:
    """Return the mistakes of all systems in the sentence at `place`, from 0: the notes by name."""
    notes: dict[str, list[str]] = {}
    for system in systems:
        for name, mistake in system.diagnosis.mistakes[place].items():
            notes.setdefault(shown_name(name), []).append(mistake.note)
    return {name: " / ".join(system_notes) for name, system_notes in notes.items()}
