"""Which checkpoints of a run stay: the newest, the best, and the targets of the links `best` and `last`."""

import contextlib
import shutil
from pathlib import Path

from translator.checkpoint.state import (
    BEST,
    LAST,
    CheckpointState,
    is_whole,
    read_state,
    step_folder,
    steps_saved,
)
from translator.errors import CheckpointError
from translator.run.storage import storage_errors
from translator.run.work_folders import replace_link


def mark_best(folder: Path, step: int) -> None:
    """Point the link `best` to the checkpoint of `step`."""
    replace_link(folder / BEST, step_folder(folder, step).name)


def intact_states(folder: Path) -> dict[int, CheckpointState]:
    """Return the state of each checkpoint in `folder` by step, ascending; omits incomplete checkpoints."""
    states = {}
    for step in steps_saved(folder):
        with contextlib.suppress(CheckpointError):
            states[step] = read_state(step_folder(folder, step))
    return states


def ranked_steps(folder: Path, *, lower_is_better: bool) -> list[int]:
    """Return the steps with a score in the newest checkpoint's metric, best first; ties by age, oldest first."""
    scores: dict[int, float] = {}
    metrics: dict[int, object] = {}
    for step, state in intact_states(folder).items():
        if state.score is not None:
            scores[step] = state.score if lower_is_better else -state.score
            metrics[step] = _metric(state)
    comparable_steps = [step for step in scores if metrics[step] == metrics[max(scores)]]
    return sorted(comparable_steps, key=lambda step: (scores[step], step))


def _metric(state: CheckpointState) -> object:
    """Return the name of the metric of a state's score; a resumed run may have changed it."""
    return state.progress.get("best_metric", "")


def remove_old_checkpoints(
    folder: Path, keep: int, keep_best: int = 1, *, lower_is_better: bool = False, whole: int | None = None
) -> None:
    """Delete all but the newest `keep` checkpoints, the best `keep_best`, and the targets of `best` and `last`.

    A damaged checkpoint does not count among the newest. At least one intact checkpoint stays.

    Args:
        folder: the checkpoints of a run.
        keep: number of the newest checkpoints that stay.
        keep_best: number of the best ones that stay.
        lower_is_better: the metric of the scores is a loss.
        whole: step of a checkpoint that the caller has verified; if it does not stay, one that is verified here stays.
    """
    intact_steps = list(intact_states(folder))
    kept_steps = {*intact_steps[-keep:], *ranked_steps(folder, lower_is_better=lower_is_better)[:keep_best]}

    # One of those that stay must be whole, down to the bytes of its tensors.
    if whole not in kept_steps:
        for step in reversed(intact_steps):
            if is_whole(step_folder(folder, step)):
                kept_steps.add(step)
                break

    linked_folders = {(folder / name).resolve() for name in (BEST, LAST)}
    for step in steps_saved(folder):
        path = step_folder(folder, step)
        is_unreported = step > max(kept_steps, default=-1)  # damaged, and newer than all that stay
        if step in kept_steps or is_unreported or path.resolve() in linked_folders:
            continue
        with storage_errors(path, "delete"):
            # Renamed first, so that a kill during the deletion leaves no folder that looks intact.
            shutil.rmtree(path.rename(folder / f".{path.name}.old"))

    # What a kill left of earlier deletions.
    for remains in folder.glob(".step-*"):
        shutil.rmtree(remains, ignore_errors=True)
