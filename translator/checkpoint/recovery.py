"""Recovery from damaged checkpoints: the newest intact one is used, the damaged ones are set aside."""

import os
from pathlib import Path
from typing import NamedTuple

from translator.checkpoint.files import LoadedCheckpoint, load_checkpoint
from translator.checkpoint.retention import intact_states, mark_best, ranked_steps
from translator.checkpoint.state import (
    BEST,
    LAST,
    DamagedCheckpointError,
    step_folder,
    steps_saved,
    verify_checkpoint,
)
from translator.errors import CheckpointError
from translator.run.logging import LOGGER
from translator.run.storage import storage_errors
from translator.run.work_folders import replace_link

_SET_ASIDE = ".damaged-"


class NewestCheckpoint(NamedTuple):
    """The newest intact checkpoint of a run."""

    path: Path
    content: LoadedCheckpoint


def newest_whole(folder: Path) -> NewestCheckpoint | None:
    """Return path and content of the newest intact checkpoint in `folder`; None if the run has no checkpoint yet.

    Raises CheckpointError: all checkpoints are damaged, or the format of one is unsupported.
    """
    damages = []
    for step in reversed(steps_saved(folder)):
        path = step_folder(folder, step)
        try:
            return NewestCheckpoint(path=path, content=load_checkpoint(path))
        except DamagedCheckpointError as error:
            damages.append(error.damage)
    damages += [f"{path} was set aside earlier" for path in sorted(folder.glob(f"{_SET_ASIDE}*"))]
    if not damages:
        return None
    raise CheckpointError(
        f"every checkpoint in {folder} is damaged: {'; '.join(damages)}. Restore one of them from a copy; or delete "
        f"{folder} to train from the start"
    )


def repair(folder: Path, whole: int, *, lower_is_better: bool) -> None:
    """Point `last` and `best` to intact checkpoints, and rename damaged ones that are found, with a warning.

    Args:
        folder: the checkpoints of a run.
        whole: step of the newest intact checkpoint (see `newest_whole`), the target of `last`.
        lower_is_better: the metric of the scores is a loss.
    """
    # 1. Set aside what is newer than `whole`, or has an unreadable state.
    intact_steps = intact_states(folder)
    for step in steps_saved(folder):
        if step > whole or step not in intact_steps:
            _set_aside_if_damaged(folder, step, whole)

    # 2. Renew the links; a better checkpoint is read in full before `best` points to it.
    replace_link(folder / LAST, step_folder(folder, whole).name)
    for step in ranked_steps(folder, lower_is_better=lower_is_better):
        if step == whole or not _set_aside_if_damaged(folder, step, whole):
            mark_best(folder, step)
            break

    # 3. Without any score, `best` falls back to `last`.
    best = folder / BEST
    if best.is_symlink() and not best.is_dir():
        with storage_errors(best, "delete"):
            best.unlink()


def _set_aside_if_damaged(folder: Path, step: int, whole: int) -> bool:
    """Rename the checkpoint of `step` if it is damaged, with a warning; return whether it is."""
    path = step_folder(folder, step)
    try:
        verify_checkpoint(path)
    except DamagedCheckpointError as error:
        aside = _free_name(folder / f"{_SET_ASIDE}{path.name}")
        with storage_errors(path, "rename"):
            path.rename(aside)
        newest = step_folder(folder, whole).name
        LOGGER.warning(f"damaged checkpoint: {error.damage}; renamed to {aside}, training continues from {newest}")
        return True
    except CheckpointError as error:
        LOGGER.warning(str(error))  # of a newer version, which can still use it
    return False


def _free_name(path: Path) -> Path:
    """Return `path`, or `path` with the first number from 2 that gives a name without a file."""
    candidate, number = path, 1
    while os.path.lexists(candidate):
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate
