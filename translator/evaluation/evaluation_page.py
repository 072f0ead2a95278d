"""report.html: a page with the tables of an evaluation, every sentence, and the runs that translated them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Final

import translator
from translator.checkpoint.state import LAST, find_checkpoint, read_checkpoint
from translator.errors import CheckpointError
from translator.evaluation.compare import SystemComparison
from translator.evaluation.mistakes import MEANINGS
from translator.evaluation.results import ScoredSet
from translator.evaluation.tables import Table, shown_name
from translator.evaluation.word_differences import mark_differences
from translator.run.folder import RunFolder
from translator.run.pages import page_script, render_page, visible
from translator.run.text import is_persian

MAX_SENTENCES: Final = 5000  # per test set in the page; more make a browser slow


def evaluation_page(
    sections: Sequence[tuple[SystemComparison, Sequence[Table]]], runs: Sequence[RunFolder] = ()
) -> str:
    """Return a self-contained HTML page with all texts escaped.

    Args:
        sections: each test set as every system translated it, with its tables.
        runs: whose recipe, commit and loss are shown.
    """
    test_sets = []
    sentences = []
    sentence_count = 0
    names: dict[str, None] = {}  # of all systems, as an ordered set
    for number, (comparison, tables) in enumerate(sections, start=1):
        text = comparison.baseline.text
        names.update(dict.fromkeys(comparison.sets))
        notes = dict.fromkeys(chain.from_iterable(table.notes for table in tables))
        test_sets.append({"identity": f"set-{number}", "name": text.name, "tables": tables, "notes": notes})
        sentence_count += len(text.sources)
        for place in range(min(len(text.sources), MAX_SENTENCES)):
            sentences.append({"identity": f"s-{number}-{place + 1}", **_sentence(place, comparison.sets)})
    links = [(test_set["identity"], test_set["name"]) for test_set in test_sets]  # from the top of the page
    return render_page(
        "evaluation.html.j2",
        title=f"Evaluation of {', '.join(names)}",
        sections=[*links, ("runs", "Runs"), ("sentences", "Sentences")],
        test_sets=test_sets,
        runs=[_shown_run(run) for run in runs],
        sentences=sentences,
        hidden_count=sentence_count - len(sentences),
        has_several_systems=any(comparison.compared for comparison, _ in sections),
        mistakes={name: shown_name(name) for name in MEANINGS},  # all kinds, to filter the sentences by
        is_persian=is_persian,
        script=page_script("sentences.js"),
        version=translator.__version__,
    )


def _shown_run(run: RunFolder) -> dict[str, Any]:
    """Return what the page says of a run: its name, the commit that trained it, its recipe and validation losses."""
    sessions = run.sessions()
    losses: list[tuple[int, float]] = []  # updates, and the loss after them
    with suppress(CheckpointError):  # an export has no checkpoint
        checkpoint = read_checkpoint(find_checkpoint(run.checkpoints_folder, LAST))
        losses = checkpoint.state.progress.get("validation_losses", [])
    return {
        "name": run.path.resolve().name,
        "commit": sessions[-1].get("git") if sessions else None,
        "recipe": run.config_file.read_text(encoding="utf-8"),
        "losses": losses,
    }


def _sentence(place: int, systems: Mapping[str, ScoredSet]) -> dict[str, Any]:
    """Return what the page shows of the sentence at `place`, from 0, as all systems translated it."""
    first = next(iter(systems.values()))
    references = first.text.references[place]
    shown_references = [visible(reference) for reference in references]
    # Mark the words of each reference that the translation lacks; but several translations lack different words, and
    # each reference is shown only once.
    if len(systems) == 1:
        hypothesis = first.hypotheses[place]
        shown_references = [mark_differences(reference, [hypothesis], "del") for reference in references]
    translations = []
    mistakes: dict[str, list[str]] = {}
    for name, scored in systems.items():
        marked = mark_differences(scored.hypotheses[place], references, "ins")
        translations.append({"name": name, "text": marked, "chrf": scored.sentence_chrf[place]})
        for mistake, note in scored.mistakes[place].items():
            if note:  # empty for a sentence without the mistake
                mistakes.setdefault(mistake, []).append(note)
    return {
        "test_set": first.text.name,
        "number": place + 1,
        "source": first.text.sources[place],
        "reference": references[0],
        "references": shown_references,
        "translations": translations,
        "mistakes": mistakes,
    }
