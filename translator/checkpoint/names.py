"""Names of checkpoints: which there are, and which one a name stands for."""

import os
import re
from pathlib import Path

from translator.errors import CheckpointError

LAST = "last"
BEST = "best"
AVERAGED = "averaged"
_STEP_NAME = re.compile(r"step-([0-9]{6,12})")


def step_folder(folder: Path, step: int) -> Path:
    """Return the folder of the checkpoint at `step`."""
    return folder / f"step-{step:06d}"


def steps_saved(folder: Path) -> list[int]:
    """Return the steps that have a checkpoint in `folder`, ascending."""
    found = (_STEP_NAME.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted(int(match[1]) for match in found if match)


def find_checkpoint(folder: Path, name: str) -> Path:
    """Return the folder that `name` stands for: `best`, `last`, `averaged`, a step number or `step-000123`.

    `best` falls back to `last` in a run that never validated.

    Raises:
        CheckpointError: there is no such checkpoint; the message lists those that there are.
    """
    wanted = f"step-{int(name):06d}" if re.fullmatch(r"[0-9]{1,12}", name) else name
    if wanted == BEST and not os.path.lexists(folder / BEST):
        wanted = LAST
    if wanted in (BEST, LAST, AVERAGED) or _STEP_NAME.fullmatch(wanted):  # a name, never a path
        path = folder / wanted
        if path.is_dir():
            found = path.resolve()
            if path.is_symlink() and found.parent != folder.resolve():
                raise CheckpointError(
                    f"{path} is a link out of the run, to {found}; remove the link, the next training sets it right"
                )
            return found
        steps = steps_saved(folder)
        if wanted == LAST and steps:
            return step_folder(folder, steps[-1])
        if path.is_symlink():  # another one in its place would be scored under its name
            raise CheckpointError(f"{path} names {path.readlink()}, which is not there; {others(folder)}")
        if wanted == AVERAGED:
            raise CheckpointError(f"no checkpoint `averaged` in {folder}; make it with `translator average`")
    raise CheckpointError(f"no checkpoint `{name}` in {folder}; {others(folder)}")


def others(folder: Path, without: Path | None = None) -> str:
    """Return a clause that lists the checkpoints in `folder`, all or all but one."""
    steps = [str(step) for step in steps_saved(folder) if without is None or step_folder(folder, step) != without]
    return f"steps saved{' besides' if without else ''}: {', '.join(steps) or 'none'} (also `best` and `last`)"
