"""The page: what each of its sections holds."""

from collections.abc import Mapping, Sequence
from typing import Final

import translator
from translator.evaluation.comparison import SystemComparison, distinct_labels
from translator.evaluation.diagnosis import Diagnosis
from translator.evaluation.report.comparisons import comparison_parts
from translator.evaluation.report.findings import finding_rows, not_looked_for
from translator.evaluation.report.learning_curve import LearningCurve
from translator.evaluation.report.plots import learning_plots, set_plots
from translator.evaluation.report.scores import score_tables
from translator.evaluation.report.sentences import ordered, sentence_data, sentence_set
from translator.evaluation.report.slice_tables import slice_tables
from translator.evaluation.report.systems import systems
from translator.evaluation.scored_set import ScoredSet
from translator.evaluation.slices import Slice
from translator.pages import page_data, page_script, render_page

ROWS: Final = 50
"""Sentences that the page shows at once, and all that it shows without JavaScript."""
_SECTIONS: Final[Mapping[str, str]] = {
    "scores": "Scores",
    "systems": "Systems",
    "slices": "Parts",
    "comparisons": "Comparisons",
    "findings": "Findings",
    "learning": "Learning curve",
    "plots": "Plots",
    "sentences": "Sentences",
    "versions": "Made with",
}


def evaluation_page(
    title: str,
    sets: Sequence[ScoredSet],
    diagnoses: Sequence[Diagnosis | None] = (),
    comparisons: Sequence[SystemComparison] = (),
    learning_curve: Sequence[LearningCurve] = (),
    *,
    slices: Sequence[Sequence[Slice]] = (),
    missing: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """Return one self-contained HTML page, in which no text of a corpus or a model is taken for markup.

    Args:
        title: what was evaluated.
        sets: at least one test set as one system translated it.
        diagnoses: what was found in each set, in their order; empty where nobody has looked.
        comparisons: of the systems, which are in the order of the sets.
        learning_curve: of each run.
        slices: the parts of each set, in their order; empty where there are none.
        missing: scores that were asked for and could not be computed, and why.
        settings: further facts about each system, by its name.
    """
    labels = distinct_labels(sets)
    found = list(diagnoses) or [None] * len(sets)
    sentences = [sentence_set(one, label, diagnosis) for one, label, diagnosis in zip(sets, labels, found, strict=True)]
    learning = learning_plots(learning_curve)
    parts = slice_tables(sets, labels, list(slices) or [()] * len(sets))
    shown = {
        "slices": bool(parts),
        "comparisons": bool(comparisons),
        "findings": any(found),
        "learning": bool(learning),
    }
    order = list(ordered(sentences))
    return render_page(
        "evaluation.html.j2",
        title=title,
        sections=[(identity, heading) for identity, heading in _SECTIONS.items() if shown.get(identity, True)],
        version=translator.__version__,
        script=page_script("sentences.js"),
        data=page_data(sentence_data(sentences, ROWS)),
        tables=score_tables(sets, labels),
        sets=sentences,
        settings=settings or {},
        learning=learning,
        plots=set_plots(sentences),
        systems=systems(sets, labels),
        columns={
            "score": any(one.hypothesis_scores is not None for one in sets),
            "rare": any(one.rare_shares for one in sets),
        },
        findings=finding_rows(found),
        unknown=list(not_looked_for(found)),
        slices=parts,
        missing=missing,
        comparisons=comparison_parts(comparisons, sets, labels),
        total=len(order),
        first=order[:ROWS],
    )
