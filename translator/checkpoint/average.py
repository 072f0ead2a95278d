"""One checkpoint out of several: the mean of their weights (Vaswani et al. 2017 §6.1)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from translator.checkpoint.files import MODEL_FILE, load_weights, write_checkpoint
from translator.checkpoint.names import AVERAGED, step_folder, steps_saved
from translator.checkpoint.retention import ranked_steps
from translator.checkpoint.state import CheckpointState
from translator.errors import CheckpointError, InputError
from translator.lock import hold_folder
from translator.run_folder import RunFolder

Choice = Literal["last", "best"]


def average_run(run_folder: Path | str, count: int, which: str) -> str:
    """Average `count` checkpoints of a run, the `last` or the `best`, and return a line that says what was made.

    Raises:
        InputError: `count` or `which` makes no sense.
        RunError: there is no run in the folder, or another process is at work in it.
        CheckpointError: there are fewer checkpoints than asked for, or one is damaged or of another model.
        StorageError: the disk is full or the folder cannot be written.
    """
    if which not in ("last", "best"):
        raise InputError(f"cannot average the `{which}` checkpoints; choose `last` or `best`")
    chosen: Choice = "last" if which == "last" else "best"
    run = RunFolder.open(run_folder)
    lower_is_better = run.config().training.best_metric == "loss"
    with hold_folder(run.path):  # a training would delete checkpoints while they are read
        path = average_checkpoints(run.checkpoints_folder, count, chosen, lower_is_better=lower_is_better)
        steps = ", ".join(str(step) for step in load_weights(path)[0].averaged_steps)
    return f"{path}: the mean of the weights of steps {steps}; use it with --checkpoint averaged"


def average_checkpoints(folder: Path, count: int, which: Choice, *, lower_is_better: bool = False) -> Path:
    """Write `averaged` into `folder`, in place of an older one: the mean of the weights of `count` checkpoints.

    The weights are those that translate: the moving average of a checkpoint where it has one.

    Args:
        folder: the checkpoints of one run.
        count: how many to average, at least 1.
        which: the newest, or the best by validation score.
        lower_is_better: whether a low score is a good one.

    Raises:
        InputError: `count` is less than 1.
        CheckpointError: there are fewer checkpoints than asked for, or one is damaged or of another model.
        StorageError: the disk is full or the folder cannot be written.
    """
    if count < 1:
        raise InputError(f"cannot average {count} checkpoints; give 1 or more")
    if which == "last":
        steps, kind, key = steps_saved(folder)[::-1], "", "training.keep_checkpoints"
    else:
        steps, kind, key = ranked_steps(folder, lower_is_better=lower_is_better), " with a score", "training.keep_best"
    if len(steps) < count:
        listed = ", ".join(str(step) for step in sorted(steps))
        there = f"{len(steps)} (steps {listed})" if steps else "none"
        raise CheckpointError(
            f"cannot average {count} checkpoints{kind} in {folder}: there are {there}; ask for fewer, or train with a "
            f"higher {key}"
        )
    state, weights = _mean(folder, sorted(steps[:count]))
    return write_checkpoint(folder / AVERAGED, state, {MODEL_FILE: weights})


def _mean(folder: Path, steps: Sequence[int]) -> tuple[CheckpointState, dict[str, Tensor]]:
    """Return the state and the mean weights of the checkpoints of `steps`, added up in float64, one read at a time."""
    newest = step_folder(folder, steps[-1])
    state, like = load_weights(newest)
    sums = {name: tensor.double() for name, tensor in like.items()}
    for step in steps[:-1]:
        path = step_folder(folder, step)
        other, weights = load_weights(path)
        fits = weights.keys() == like.keys() and all(weights[name].shape == like[name].shape for name in like)
        if not fits or other.subword != state.subword or other.model != state.model:
            raise CheckpointError(f"cannot average {path} with {newest}: they are of different models")
        for name, tensor in weights.items():
            sums[name] += tensor
    mean = {name: (total / len(steps)).to(like[name].dtype) for name, total in sums.items()}
    assert all(torch.is_floating_point(tensor) for tensor in mean.values()), "a count cannot be averaged"
    without = replace(state, position={}, progress={}, random={}, score=None, average={}, averaged_steps=list(steps))
    return without, mean
