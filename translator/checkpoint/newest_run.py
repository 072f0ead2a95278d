"""The newest finished run, for a command that names none."""

import os
from pathlib import Path

from translator.checkpoint.state import BEST, LAST, STATE_FILE, pin_checkpoint
from translator.core.loop import Progress, stopping
from translator.errors import TranslatorError
from translator.run.folder import RunFolder


def newest_finished_run(folder: Path) -> Path | None:
    """Return the run below `folder` whose training finished last; None if there is none that can be used.

    A run is left out if its config.yaml or a checkpoint is damaged or of another version, or if it has no subword
    models.
    """
    # A folder that may not be read raises its error here; `glob` would find nothing in it.
    if folder.is_dir():
        os.scandir(folder).close()

    # The states of all newest checkpoints. `**` follows no links, but `*` does: a run may be a link to another disk.
    last_state = f"checkpoints/{LAST}/{STATE_FILE}"
    states = {*folder.glob(f"*/{last_state}"), *folder.glob(f"**/{last_state}")}

    # The first usable run, from the latest on.
    for file in sorted(states, key=lambda file: file.stat().st_mtime, reverse=True):
        try:
            run = RunFolder.open(file.parents[2])  # of RUN/checkpoints/last/state.json
            if _is_finished(run):
                return run.path
        except (TranslatorError, OSError):
            continue  # this run is damaged: try the next
    return None


def _is_finished(run: RunFolder) -> bool:
    """Return whether the training of a usable run ended with its newest checkpoint; raise RunError if it is damaged."""
    pin_checkpoint(run.checkpoints_folder, BEST)
    state = pin_checkpoint(run.checkpoints_folder, LAST).state
    progress = Progress(
        step=state.step,
        seconds=state.progress.get("seconds", 0.0),
        validations_without_gain=state.progress.get("validations_without_gain", 0),
    )
    return stopping(progress, run.config().training.loop_settings) is not None and run.subword_folder.is_dir()
