"""The newest run, for a command that names none."""

import contextlib
from pathlib import Path

from translator.checkpoint.state import STATE_FILE, pin_checkpoint
from translator.errors import TranslatorError
from translator.run.folder import RunFolder


def newest_run(folder: Path) -> Path | None:
    """Return the run below `folder` that has saved the newest checkpoint; None if no run has a usable one.

    A run is left out if its config.yaml or its best checkpoint is damaged or of another version, or if it has no
    subword models.
    """
    # 1. When each run saved its newest checkpoint; a running training may delete one meanwhile.
    times: dict[Path, float] = {}
    files = f"checkpoints/step-*/{STATE_FILE}"
    # `**` follows no links, and a run may be a link to another disk.
    for file in (*folder.glob(f"*/{files}"), *folder.glob(f"**/{files}")):
        run = file.parents[2]
        with contextlib.suppress(OSError):
            times[run] = max(times.get(run, 0.0), file.stat().st_mtime)

    # 2. The newest run that can be loaded.
    for run in sorted(times, key=lambda run: times[run], reverse=True):
        with contextlib.suppress(TranslatorError):
            opened = RunFolder.open(run)
            opened.config()
            pin_checkpoint(opened.checkpoints_folder, "best")
            if opened.subword_folder.is_dir():
                return run
    return None
