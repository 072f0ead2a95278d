"""report.html: a page with the tables of an evaluation, every sentence, and the runs that translated them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Final

from markupsafe import Markup

import translator
from translator.checkpoint.state import LAST, find_checkpoint, read_state
from translator.errors import CheckpointError
from translator.evaluation.compare import SystemComparison
from translator.evaluation.results import ScoredSet
from translator.evaluation.tables import evaluation_tables, shown_name
from translator.evaluation.word_differences import mark_differences
from translator.run.folder import RunFolder
from translator.run.pages import page_script, render_page, visible
from translator.run.text import is_persian

MAX_SENTENCES: Final = 5000  # per test set in the page; more make a browser slow
_ENGLISH_ATTRIBUTES: Final = Markup('lang="en" dir="ltr"')
_PERSIAN_ATTRIBUTES: Final = Markup('lang="fa" dir="rtl"')
_CURVE_WIDTH: Final = 640
_CURVE_HEIGHT: Final = 160


def evaluation_page(
    systems_of_sets: Sequence[Mapping[str, ScoredSet]],
    comparisons: Sequence[SystemComparison] = (),
    missing: Sequence[str] = (),
    runs: Sequence[RunFolder] = (),
) -> str:
    """Return a self-contained HTML page with all texts escaped.

    Args:
        systems_of_sets: each test set as every system translated it, by the name of the system.
        comparisons: one for each test set with several systems.
        missing: metrics that were not computed, with the reason.
        runs: whose recipe, commit and loss are shown.
    """
    comparisons_of_sets = {comparison.test_set: comparison for comparison in comparisons}
    sections = []
    for number, systems in enumerate(systems_of_sets, start=1):
        name = _first(systems).text.name
        tables = evaluation_tables(systems, comparisons_of_sets.get(name))
        notes = dict.fromkeys(chain.from_iterable(table.notes for table in tables))
        sections.append({"identity": f"set-{number}", "heading": name, "tables": tables, "notes": notes})
    links = [(section["identity"], section["heading"]) for section in sections]
    if runs:
        links.append(("runs", "Runs"))
    sentences: list[dict[str, Any]] = []
    hidden_count = 0
    for test_number, systems in enumerate(systems_of_sets, start=1):
        sentences += _sentences(test_number, systems)
        hidden_count += max(0, len(_first(systems).text.sources) - MAX_SENTENCES)
    names = dict.fromkeys(chain.from_iterable(systems_of_sets))
    return render_page(
        "evaluation.html.j2",
        title=f"Evaluation of {', '.join(names)}",
        sections=[*links, ("sentences", "Sentences")],
        table_sections=sections,
        missing=missing,
        runs=[_shown_run(run) for run in runs],
        curve_size=(_CURVE_WIDTH, _CURVE_HEIGHT),
        sentences=sentences,
        hidden_count=hidden_count,
        test_sets=[_first(systems).text.name for systems in systems_of_sets],
        has_several_systems=any(len(systems) > 1 for systems in systems_of_sets),
        mistake_names=sorted(set(chain.from_iterable(sentence["mistakes"] for sentence in sentences))),
        script=page_script("sentences.js"),
        version=translator.__version__,
    )


def _first(systems: Mapping[str, ScoredSet]) -> ScoredSet:
    """Return the test set as the first system translated it; its sentences are those of all systems."""
    return next(iter(systems.values()))


# --- the runs ---


def _shown_run(run: RunFolder) -> dict[str, Any]:
    """Return what the page says of a run: its name, the commit that trained it, its recipe and validation losses."""
    sessions = run.sessions()
    losses: list[tuple[int, float]] = []  # updates, and the loss after them; an export has none
    with suppress(CheckpointError):
        losses = read_state(find_checkpoint(run.checkpoints_folder, LAST)).progress.get("validation_losses", [])
    return {
        "name": run.path.resolve().name,
        "commit": sessions[-1].get("git") if sessions else None,
        "recipe": run.config_file.read_text(encoding="utf-8"),
        "losses": losses,
        "points": _curve_points(losses),
    }


def _curve_points(losses: Sequence[tuple[int, float]]) -> str:
    """Return the points of a curve, in the form of SVG, that fills its picture; "" for fewer than two."""
    if len(losses) < 2:
        return ""
    (first_update, _), (last_update, _) = losses[0], losses[-1]
    highest = max(loss for _, loss in losses)
    lowest = min(loss for _, loss in losses)
    points = []
    for update, loss in losses:
        x = _CURVE_WIDTH * (update - first_update) / (last_update - first_update)
        y = _CURVE_HEIGHT * (highest - loss) / ((highest - lowest) or 1.0)
        points.append(f"{x:.1f},{y:.1f}")
    return " ".join(points)


# --- the sentences ---


def _sentences(test_number: int, systems: Mapping[str, ScoredSet]) -> list[dict[str, Any]]:
    """Return what the page shows of the first `MAX_SENTENCES` sentences; `test_number` counts the test sets from 1."""
    text = _first(systems).text
    chrf_of_systems = [scored.sentence_chrf for scored in systems.values()]
    sentences = []
    for place, source in enumerate(text.sources[:MAX_SENTENCES]):
        references = text.references[place]
        # Mark what a translation lacks. Words of a reference can be missing in one translation, not in several.
        shown_references = [visible(reference) for reference in references]
        if len(systems) == 1:
            hypothesis = _first(systems).hypotheses[place]
            shown_references = [mark_differences(reference, [hypothesis], "del") for reference in references]
        translations = []
        mistakes: dict[str, list[str]] = {}
        for (name, scored), chrf in zip(systems.items(), chrf_of_systems, strict=True):
            marked = mark_differences(scored.hypotheses[place], references, "ins")
            translations.append({"name": name, "text": marked, "chrf": chrf[place]})
            for mistake, note in scored.mistakes[place].items():
                if note:
                    mistakes.setdefault(shown_name(mistake), []).append(note)
        sentence = {
            "identity": f"s-{test_number}-{place + 1}",
            "test_set": text.name,
            "number": place + 1,
            "source": source,
            "source_attributes": _language_attributes(source),
            "references": shown_references,
            "target_attributes": _language_attributes(references[0]),
            "translations": translations,
            "mistakes": {name: " / ".join(notes) for name, notes in mistakes.items()},
            "gain": chrf_of_systems[-1][place] - chrf_of_systems[0][place],  # of the last system over the first
            "words": len(source.split()),
        }
        sentences.append(sentence)
    return sentences


def _language_attributes(text: str) -> Markup:
    return _PERSIAN_ATTRIBUTES if is_persian(text) else _ENGLISH_ATTRIBUTES
