"""The newest finished run, for a command that names none."""

import contextlib
import os
from pathlib import Path

from translator.checkpoint.state import STATE_FILE, pin_checkpoint, read_state
from translator.core.loop import Progress, stopping
from translator.errors import TranslatorError
from translator.run.folder import RunFolder


def newest_finished_run(folder: Path) -> Path | None:
    """Return the run below `folder` whose training finished last; None if there is none that can be used.

    A run is left out if its config.yaml or a checkpoint is damaged or of another version, or if it has no subword
    models.
    """
    if folder.is_dir():
        os.scandir(folder).close()  # `glob` finds nothing in a folder that may not be read
    # 1. The newest checkpoint of each run; a running training may delete one meanwhile.
    newest: dict[Path, tuple[float, Path]] = {}
    files = f"checkpoints/step-*/{STATE_FILE}"
    # `**` follows no links, and a run may be a link to another disk.
    for file in (*folder.glob(f"*/{files}"), *folder.glob(f"**/{files}")):
        run = file.parents[2]
        with contextlib.suppress(OSError):
            newest[run] = max(newest.get(run, (0.0, file)), (file.stat().st_mtime, file))

    # 2. The newest run that is finished and can be loaded.
    for run in sorted(newest, key=lambda run: newest[run], reverse=True):
        _, file = newest[run]
        with contextlib.suppress(TranslatorError, OSError):
            if _is_finished(RunFolder.open(run), file.parent):
                return run
    return None


def _is_finished(run: RunFolder, checkpoint: Path) -> bool:
    """Return whether the training of a usable run ended with its newest checkpoint; raise RunError if it is damaged."""
    pin_checkpoint(run.checkpoints_folder, "best")
    state = read_state(checkpoint)
    progress = Progress(
        step=state.step,
        seconds=state.progress.get("seconds", 0.0),
        validations_without_gain=state.progress.get("validations_without_gain", 0),
    )
    return stopping(progress, run.config().training.limits) is not None and run.subword_folder.is_dir()
