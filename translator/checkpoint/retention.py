"""Which checkpoint of a run is used, and which ones stay: the newest, the best, the targets of `last` and `best`."""

import contextlib
import shutil
import tempfile
from pathlib import Path

from translator.checkpoint.files import LoadedCheckpoint, load_checkpoint
from translator.checkpoint.state import BEST, LAST, DamagedCheckpointError, read_checkpoint, step_folder, steps_saved
from translator.errors import CheckpointError
from translator.run.files import replace_link, storage_errors
from translator.run.logging import LOGGER


def newest_whole(folder: Path) -> LoadedCheckpoint | None:
    """Return the newest checkpoint in `folder` that is not damaged; None if the run has no checkpoint yet.

    A damaged one is passed over with a warning.

    Raises CheckpointError: all checkpoints are damaged, or the format of one is unsupported.
    """
    # Try the newest first. Warn of damaged ones only when a whole one is found, since the warning names it.
    damages = []
    for step in reversed(steps_saved(folder)):
        try:
            checkpoint = load_checkpoint(step_folder(folder, step))
        except DamagedCheckpointError as error:
            damages.append(error.damage)
            continue
        for damage in damages:
            LOGGER.warning("damaged checkpoint: %s; an older one is used, that of step %d", damage, step)
        return checkpoint
    if not damages:
        return None
    raise CheckpointError(
        f"every checkpoint in {folder} is damaged: {'; '.join(damages)}. Restore one of them from a copy; or delete "
        f"{folder} to train from the start"
    )


def go_back_to(folder: Path, whole: int) -> None:
    """Rename the checkpoints after step `whole`, which `newest_whole` found damaged, and renew `last` and `best`."""
    for step in steps_saved(folder):
        if step > whole:
            path = step_folder(folder, step)
            with storage_errors(path, "rename"):
                path.rename(tempfile.mkdtemp(dir=folder, prefix=f".damaged-{path.name}."))  # in place of an empty one
    replace_link(folder / LAST, step_folder(folder, whole).name)
    best_steps = ranked_steps(folder)
    if best_steps:
        mark_best(folder, best_steps[0])
    elif (folder / BEST).is_symlink() and not (folder / BEST).is_dir():
        (folder / BEST).unlink()


def mark_best(folder: Path, step: int) -> None:
    """Point the link `best` to the checkpoint of `step`."""
    replace_link(folder / BEST, step_folder(folder, step).name)


def ranked_steps(folder: Path) -> list[int]:
    """Return the steps of the checkpoints that have a score, best first; ties by age, oldest first."""
    scores: dict[int, float] = {}
    for step in steps_saved(folder):
        with contextlib.suppress(CheckpointError):
            score = read_checkpoint(step_folder(folder, step)).state.score
            if score is not None:
                scores[step] = score
    return sorted(scores, key=lambda step: (-scores[step], step))


def remove_old_checkpoints(folder: Path, keep: int, keep_best: int) -> None:
    """Delete all but the newest `keep` checkpoints, the best `keep_best`, and the targets of `best` and `last`.

    Args:
        folder: the checkpoints of a run, of which the newest is whole.
        keep: number of the newest checkpoints that stay, at least 1.
        keep_best: number of the best ones that stay.
    """
    kept_steps = {*steps_saved(folder)[-keep:], *ranked_steps(folder)[:keep_best]}
    linked_folders = {(folder / name).resolve() for name in (BEST, LAST)}
    for step in steps_saved(folder):
        path = step_folder(folder, step)
        if step in kept_steps or path.resolve() in linked_folders:
            continue
        with storage_errors(path, "delete"):
            # Renamed first, so that a kill during the deletion leaves no folder that looks intact.
            shutil.rmtree(path.rename(folder / f".{path.name}.old"))

    # Delete what a kill left of earlier deletions.
    for remains in folder.glob(".step-*.old"):
        shutil.rmtree(remains, ignore_errors=True)
