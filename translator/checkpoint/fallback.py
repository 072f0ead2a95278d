"""What to go on from when a checkpoint is damaged: the newest whole one, with the damaged ones set aside."""

import logging
import os
from pathlib import Path

from translator.checkpoint.files import load_checkpoint, verify_checkpoint
from translator.checkpoint.names import BEST, step_folder, steps_saved
from translator.checkpoint.retention import intact_states, mark_best, mark_last, ranked_steps
from translator.checkpoint.state import DamagedCheckpointError, LoadedCheckpoint
from translator.errors import CheckpointError
from translator.storage import restore_folders, storage_errors

LOGGER = logging.getLogger("translator")

_SET_ASIDE = ".damaged-"


def newest_whole(folder: Path) -> tuple[Path, LoadedCheckpoint] | None:
    """Read the newest checkpoint in `folder` that agrees with its checksums; None if the run has none yet.

    Nothing is changed on disk, and nobody is told of those that were passed over: see `repair`.

    Raises:
        CheckpointError: there were checkpoints, and none of them is whole; or one is of another format.
    """
    damages = []
    for step in reversed(steps_saved(folder)):
        path = step_folder(folder, step)
        try:
            return path, load_checkpoint(path)
        except DamagedCheckpointError as error:
            damages.append(error.damage)
    aside = sorted(path.name for path in folder.glob(f"{_SET_ASIDE}*"))
    if not damages and not aside:
        return None
    found = "; ".join([*damages, *(f"{folder / name} was set aside earlier" for name in aside)])
    raise CheckpointError(
        f"every checkpoint in {folder} is damaged: {found}. Restore one of them from a copy; or, to train again from "
        f"the beginning, delete {folder}"
    )


def repair(folder: Path, whole: int, *, lower_is_better: bool) -> None:
    """Make the links `last` and `best` name whole checkpoints.

    Those that are found damaged on the way are renamed, so that nothing is lost and they
    never look whole; a warning names each.

    Args:
        folder: the checkpoints of one run.
        whole: the step of the newest whole checkpoint.
        lower_is_better: whether a low score is a good one.

    Raises:
        StorageError: the folder cannot be written.
    """
    plainly_whole = intact_states(folder)
    for step in steps_saved(folder):
        if step > whole:
            _set_aside_if_damaged(folder, step, f"training goes on from {step_folder(folder, whole).name}")
        elif step not in plainly_whole:
            _set_aside_if_damaged(folder, step, "the newer ones are used")
    mark_last(folder, whole)
    best = folder / BEST
    whole_ones = {whole}
    named = [step for step in steps_saved(folder) if step_folder(folder, step).name == best.resolve().name]
    for step in [*named, *ranked_steps(folder, lower_is_better=lower_is_better)]:
        if step not in whole_ones and not _set_aside_if_damaged(folder, step, "`best` will name another"):
            whole_ones.add(step)
    for step in ranked_steps(folder, lower_is_better=lower_is_better)[:1]:
        mark_best(folder, step)
    if best.is_symlink() and not best.is_dir():  # no checkpoint has a score: `best` falls back to `last`
        with storage_errors(best, "delete"):
            best.unlink()


def _set_aside_if_damaged(folder: Path, step: int, outcome: str) -> bool:
    """Rename the checkpoint of `step` if it is damaged, and warn; return whether it was."""
    path = step_folder(folder, step)
    try:
        verify_checkpoint(path)
    except DamagedCheckpointError as error:
        aside = folder / f"{_SET_ASIDE}{path.name}"
        number = 1
        while os.path.lexists(aside):
            number += 1
            aside = folder / f"{_SET_ASIDE}{path.name}-{number}"
        with storage_errors(path, "rename"):
            path.rename(aside)
        LOGGER.warning("damaged checkpoint: %s; it is set aside as %s, and %s", error.damage, aside, outcome)
        return True
    return False


def finish_interrupted_writes(folder: Path) -> None:
    """Put back what a killed process was replacing in `folder`.

    Raises:
        StorageError: the folder cannot be written.
    """
    with storage_errors(folder):
        restore_folders(folder)
