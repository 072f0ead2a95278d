"""Checkpoint averaging: the mean of the weights of several checkpoints (Vaswani et al. 2017, §6.1)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from translator.checkpoint.files import load_weights, write_checkpoint
from translator.checkpoint.retention import ranked_steps
from translator.checkpoint.state import (
    AVERAGED,
    MODEL_FILE,
    CheckpointState,
    read_checkpoint,
    step_folder,
    steps_saved,
)
from translator.errors import CheckpointError, InputError
from translator.run.files import hold_folder
from translator.run.folder import RunFolder


def average_run(run_folder: Path | str, count: int, which: str) -> str:
    """Average checkpoints of a run and return a summary line; raise RunError if the run is missing or in use.

    Args:
        run_folder: folder of the run.
        count: number of checkpoints.
        which: `last` (the newest) or `best` (by score).
    """
    run = RunFolder.open(run_folder)
    with hold_folder(run.path):  # a training run could delete checkpoints while they are read
        path = average_checkpoints(run.checkpoints_folder, count, which)
        steps = ", ".join(map(str, read_checkpoint(path).state.averaged_steps))
    return f"{path}: the mean of the weights of steps {steps}; use it with --checkpoint averaged"


def average_checkpoints(folder: Path, count: int, which: str) -> Path:
    """Write `averaged`, the mean weights of `count` checkpoints, and return its path.

    The moving average of a checkpoint, if any, counts as its weights.

    Args:
        folder: the checkpoints of a run.
        count: number of checkpoints.
        which: `last` (the newest) or `best` (by score).

    Raises:
        InputError: `count` is less than 1.
        CheckpointError: there are fewer checkpoints than `count`, or one is damaged or is of a different model.
    """
    steps = _steps_to_average(folder, count, which)
    state, mean = _mean_weights([step_folder(folder, step) for step in steps])
    # No training resumes from an average, so it has no position and no progress.
    averaged_state = replace(state, position={}, progress={}, score=None, average={}, averaged_steps=steps)
    return write_checkpoint(folder / AVERAGED, averaged_state, {MODEL_FILE: mean})


def _steps_to_average(folder: Path, count: int, which: str) -> list[int]:
    """Return the steps of the `count` newest or best checkpoints, ascending; errors as `average_checkpoints`."""
    assert which in ("last", "best")
    if count < 1:
        raise InputError(f"cannot average {count} checkpoints; give 1 or more")

    # 1. The checkpoints to choose from, the first choice first.
    if which == "best":
        steps = ranked_steps(folder)
        kind, key = " with a score", "training.keep_best"
    else:
        steps = steps_saved(folder)[::-1]
        kind, key = "", "training.keep_checkpoints"

    # 2. There must be enough of them; `key` names the setting by which a run saves more.
    if len(steps) < count:
        available = f"{len(steps)} (steps {', '.join(map(str, sorted(steps)))})" if steps else "none"
        advice = f"ask for fewer, or train with a higher {key}"
        if which == "best" and not steps:
            advice = "no validation had a score; average the newest instead (--of last)"
        raise CheckpointError(f"cannot average {count} checkpoints{kind} in {folder}: there are {available}; {advice}")
    return sorted(steps[:count])


def _mean_weights(checkpoints: Sequence[Path]) -> tuple[CheckpointState, dict[str, Tensor]]:
    """Return the state of the newest of `checkpoints`, which is the last, and the mean of the weights of all.

    The sum is in float64. Besides it and the newest, only one checkpoint at a time is in memory.
    """
    # 1. Begin with the newest one, whose state is returned.
    newest = checkpoints[-1]
    state, newest_weights = load_weights(newest)
    sums = {name: tensor.double() for name, tensor in newest_weights.items()}

    # 2. Add the weights of the others, which must be of the same model.
    for path in checkpoints[:-1]:
        older_state, weights = load_weights(path)
        is_same_model = (older_state.subword, older_state.model) == (state.subword, state.model)
        if not is_same_model or weights.keys() != newest_weights.keys():
            raise CheckpointError(f"cannot average {path} with {newest}: their models differ")
        for name, tensor in weights.items():
            sums[name] += tensor

    # 3. Divide, and round to the type of the weights.
    mean = {}
    for name, total in sums.items():
        mean[name] = (total / len(checkpoints)).to(newest_weights[name].dtype)
    return state, mean
