"""Which checkpoints stay, and what the links `last` and `best` name."""

import shutil
from pathlib import Path

from translator.checkpoint.files import read_state, verify_checkpoint
from translator.checkpoint.names import BEST, LAST, step_folder, steps_saved
from translator.checkpoint.state import CheckpointState
from translator.errors import CheckpointError
from translator.storage import replace_link, storage_errors


def mark_best(folder: Path, step: int) -> None:
    """Point the link `best` at the checkpoint of `step`."""
    replace_link(folder / BEST, step_folder(folder, step).name)


def mark_last(folder: Path, step: int) -> None:
    """Point the link `last` at the checkpoint of `step`."""
    replace_link(folder / LAST, step_folder(folder, step).name)


def intact_states(folder: Path) -> dict[int, CheckpointState]:
    """Return the state of each checkpoint in `folder` by step, ascending; one that is plainly damaged is left out."""
    states = {}
    for step in steps_saved(folder):
        try:
            states[step] = read_state(step_folder(folder, step))
        except CheckpointError:
            continue
    return states


def ranked_steps(folder: Path, *, lower_is_better: bool) -> list[int]:
    """Return the steps of the checkpoints in `folder` that have a score, the best first; of equals the oldest.

    The newest score says what metric counts: others cannot be compared with it.
    """
    sign = 1.0 if lower_is_better else -1.0
    scored = {step: state for step, state in intact_states(folder).items() if state.score is not None}
    metrics = {step: state.progress.get("best_metric", "") for step, state in scored.items()}
    counts = [step for step in scored if metrics[step] == metrics[max(scored)]]
    return sorted(counts, key=lambda step: (sign * (scored[step].score or 0.0), step))


def remove_old_checkpoints(
    folder: Path, keep: int, keep_best: int = 1, *, lower_is_better: bool = False, whole: int | None = None
) -> None:
    """Delete all but the newest `keep` checkpoints, the best `keep_best`, and those that `best` and `last` name.

    A damaged checkpoint does not count among the newest, and at least one that is known to be whole stays.

    Args:
        folder: the checkpoints of one run.
        keep: newest checkpoints to keep, at least 1.
        keep_best: best checkpoints to keep.
        lower_is_better: whether a low score is a good one.
        whole: a step whose checkpoint is known to be whole, so that none need be read to find one.

    Raises:
        StorageError: one cannot be deleted.
    """
    intact = list(intact_states(folder))
    kept = {*intact[-keep:], *ranked_steps(folder, lower_is_better=lower_is_better)[:keep_best]}
    if whole not in kept:
        kept |= _newest_whole(folder, intact)
    linked = {(folder / name).resolve() for name in (BEST, LAST)}
    for step in steps_saved(folder):
        path = step_folder(folder, step)
        newer_than_all_kept = step > max(kept, default=-1)  # damaged, and nobody has been told of it yet
        if step not in kept and path.resolve() not in linked and not newer_than_all_kept:
            with storage_errors(path, "delete"):
                # Renamed first: a kill in the middle of the deletion leaves no folder that looks whole.
                doomed = path.rename(folder / f".{path.name}.old")
                shutil.rmtree(doomed)
    for left_over in folder.glob(".step-*"):
        shutil.rmtree(left_over, ignore_errors=True)


def _newest_whole(folder: Path, steps: list[int]) -> set[int]:
    """Return the newest of `steps` whose checkpoint agrees with its checksums, alone in a set; no step if none does."""
    for step in reversed(steps):
        try:
            verify_checkpoint(step_folder(folder, step))
        except CheckpointError:
            continue
        return {step}
    return set()
