"""The sentences that an evaluation of a run has saved: for each test set the newest, or those of a named setting."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from translator.checkpoint import find_checkpoint
from translator.errors import CheckpointError, RunError
from translator.evaluation.score_file import saved_scores
from translator.evaluation.scored_set import ENDING, ScoredSet, read_scored_set
from translator.run_folder import RunFolder

_LISTED: Final = 10
"""Saved settings that a message lists."""


def newest_sets(folder: Path | str, checkpoint: str | None = None, search: str | None = None) -> dict[str, ScoredSet]:
    """Return what a run translated, by test set: what was evaluated last.

    Args:
        folder: of the run.
        checkpoint: only what this one translated: a name in the records, or as for evaluating.
        search: only what was found by this search, by its label, for example beam-5.

    Raises:
        RunError: there is no run, it was not evaluated with these, or its scores are damaged.
        InputError: saved sentences are damaged.
        StorageError: a file cannot be read.
    """
    run = RunFolder.open(folder)
    records = list(dict.fromkeys((one.test_set, one.checkpoint, one.search) for one in saved_scores(run)))
    files = {record: run.evaluation_folder / f"{'.'.join(record)}{ENDING}" for record in records}
    saved = {record: file for record, file in files.items() if file.is_file()}
    wanted = None if checkpoint is None else _recorded_name(run, checkpoint, {record[1] for record in saved})
    chosen: dict[str, Path] = {}
    for (test_set, its_checkpoint, its_search), file in saved.items():
        if wanted in (None, its_checkpoint) and search in (None, its_search):
            chosen.setdefault(test_set, file)
    if not chosen:
        raise RunError(_not_there(run, checkpoint, search, [file.name.removesuffix(ENDING) for file in saved.values()]))
    name = run.path.resolve().name  # a run goes by the name that it has now
    return {test_set: replace(read_scored_set(file), system=name) for test_set, file in chosen.items()}


def _recorded_name(run: RunFolder, checkpoint: str, recorded: set[str]) -> str:
    """Return how the records call `checkpoint`; one that was scored need not be there any more."""
    if checkpoint in recorded:
        return checkpoint
    try:
        return find_checkpoint(run.checkpoints_folder, checkpoint).name
    except CheckpointError:
        return f"step-{int(checkpoint):06d}" if checkpoint.isascii() and checkpoint.isdigit() else checkpoint


def _not_there(run: RunFolder, checkpoint: str | None, search: str | None, saved: list[str]) -> str:
    setting = [f"checkpoint {checkpoint}"] if checkpoint is not None else []
    setting += [f"search {search}"] if search is not None else []
    how = f" with {' and '.join(setting)}" if setting else ""
    command = f"translator evaluate --run {run.path}" + (f" --checkpoint {checkpoint}" if checkpoint else "")
    listed = ", ".join(saved[:_LISTED]) + (", …" if len(saved) > _LISTED else "")
    there = f"; what it has: {listed}" if saved else ""
    return f"{run.path} has no translated sentences{how}{there}; make them with: {command}"
