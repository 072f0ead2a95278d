"""The checkpoint manager: retention, the links `last` and `best`, recovery, averaging, background writing."""

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from translator.checkpoint.files import LoadedCheckpoint, load_checkpoint, load_weights, write_checkpoint
from translator.checkpoint.state import (
    AVERAGED,
    BEST,
    LAST,
    MODEL_FILE,
    CheckpointState,
    DamagedCheckpointError,
    is_whole,
    read_state,
    step_folder,
    steps_saved,
    verify_checkpoint,
)
from translator.errors import CheckpointError, InputError
from translator.run.folder import RunFolder
from translator.run.locks import hold_folder
from translator.run.logging import LOGGER
from translator.run.storage import storage_errors
from translator.run.work_folders import replace_link

_SET_ASIDE = ".damaged-"


def mark_best(folder: Path, step: int) -> None:
    """Point the link `best` to the checkpoint of `step`."""
    replace_link(folder / BEST, step_folder(folder, step).name)


def intact_states(folder: Path) -> dict[int, CheckpointState]:
    """Return the state of each checkpoint in `folder` by step, ascending; omits incomplete checkpoints."""
    states = {}
    for step in steps_saved(folder):
        with contextlib.suppress(CheckpointError):
            states[step] = read_state(step_folder(folder, step))
    return states


def ranked_steps(folder: Path, *, lower_is_better: bool) -> list[int]:
    """Return the steps with a score in the newest checkpoint's metric, best first; ties by age, oldest first."""
    states = {step: state for step, state in intact_states(folder).items() if state.score is not None}
    metrics = {step: state.progress.get("best_metric", "") for step, state in states.items()}
    scores = {step: state.score or 0.0 for step, state in states.items() if metrics[step] == metrics[max(states)]}
    return sorted(scores, key=lambda step: (scores[step] if lower_is_better else -scores[step], step))


def remove_old_checkpoints(
    folder: Path, keep: int, keep_best: int = 1, *, lower_is_better: bool = False, whole: int | None = None
) -> None:
    """Delete all but the newest `keep` checkpoints, the best `keep_best`, and the targets of `best` and `last`.

    A damaged checkpoint does not count among the newest. At least one intact checkpoint stays: that of step `whole`,
    which the caller has verified, or one that is verified here.
    """
    intact = list(intact_states(folder))
    kept = {*intact[-keep:], *ranked_steps(folder, lower_is_better=lower_is_better)[:keep_best]}
    if whole not in kept:
        kept.update([step for step in reversed(intact) if is_whole(step_folder(folder, step))][:1])
    linked = {(folder / name).resolve() for name in (BEST, LAST)}
    for step in steps_saved(folder):
        path = step_folder(folder, step)
        newer_than_all_kept = step > max(kept, default=-1)  # damaged, and not reported yet
        if step not in kept and path.resolve() not in linked and not newer_than_all_kept:
            with storage_errors(path, "delete"):
                # Renamed first, so that a kill during the deletion leaves no folder that looks intact.
                shutil.rmtree(path.rename(folder / f".{path.name}.old"))
    for left_over in folder.glob(".step-*"):
        shutil.rmtree(left_over, ignore_errors=True)


def newest_whole(folder: Path) -> tuple[Path, LoadedCheckpoint] | None:
    """Return path and content of the newest intact checkpoint in `folder`; None if the run has no checkpoint yet.

    Raises CheckpointError: all checkpoints are damaged, or the format of one is unsupported.
    """
    damages = []
    for step in reversed(steps_saved(folder)):
        path = step_folder(folder, step)
        try:
            return path, load_checkpoint(path)
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
    """Point `last` (to step `whole`) and `best` to intact checkpoints; rename damaged ones found, with a warning."""
    intact = intact_states(folder)
    for step in steps_saved(folder):
        if step > whole or step not in intact:
            _set_aside_if_damaged(folder, step, whole)
    replace_link(folder / LAST, step_folder(folder, whole).name)
    for step in ranked_steps(folder, lower_is_better=lower_is_better):
        if step == whole or not _set_aside_if_damaged(folder, step, whole):
            mark_best(folder, step)
            break
    best = folder / BEST
    if best.is_symlink() and not best.is_dir():  # without any score, `best` falls back to `last`
        with storage_errors(best, "delete"):
            best.unlink()


def _set_aside_if_damaged(folder: Path, step: int, whole: int) -> bool:
    """Rename the checkpoint of `step` if it is damaged, with a warning; return whether it is."""
    path = step_folder(folder, step)
    try:
        verify_checkpoint(path)
    except DamagedCheckpointError as error:
        names = itertools.chain([path.name], (f"{path.name}-{number}" for number in itertools.count(2)))
        aside = next(aside for name in names if not os.path.lexists(aside := folder / f"{_SET_ASIDE}{name}"))
        with storage_errors(path, "rename"):
            path.rename(aside)
        newest = step_folder(folder, whole).name
        LOGGER.warning(f"damaged checkpoint: {error.damage}; renamed to {aside}, training continues from {newest}")
        return True
    except CheckpointError as error:
        LOGGER.warning(str(error))  # of a newer version, which can still use it
    return False


def average_run(run_folder: Path | str, count: int, which: str) -> str:
    """Average checkpoints of a run and return a summary line; raise RunError if the run is missing or in use."""
    run = RunFolder.open(run_folder)
    lower_is_better = run.config().training.best_metric == "loss"
    with hold_folder(run.path):  # a training run could delete checkpoints while they are read
        path = average_checkpoints(run.checkpoints_folder, count, which, lower_is_better=lower_is_better)
        steps = ", ".join(map(str, read_state(path).averaged_steps))
    return f"{path}: the mean of the weights of steps {steps}; use it with --checkpoint averaged"


def average_checkpoints(folder: Path, count: int, which: str, *, lower_is_better: bool = False) -> Path:
    """Write `averaged`, the mean weights of `count` checkpoints (Vaswani et al. 2017 §6.1), and return its path.

    The moving average of a checkpoint, if any, counts as its weights. `which` is `last` (newest) or `best` (by score).

    Raises:
        InputError: `count` is less than 1.
        CheckpointError: there are fewer checkpoints than `count`, or one is damaged or is of a different model.
    """
    assert which in ("last", "best")
    if count < 1:
        raise InputError(f"cannot average {count} checkpoints; give 1 or more")
    steps, kind, key = steps_saved(folder)[::-1], "", "training.keep_checkpoints"
    if which == "best":
        steps, kind, key = ranked_steps(folder, lower_is_better=lower_is_better), " with a score", "training.keep_best"
    if len(steps) < count:
        there = f"{len(steps)} (steps {', '.join(map(str, sorted(steps)))})" if steps else "none"
        advice = f"ask for fewer, or train with a higher {key}"
        if which == "best" and not steps:
            advice = "no validation had a score; average the newest instead (--of last)"
        raise CheckpointError(f"cannot average {count} checkpoints{kind} in {folder}: there are {there}; {advice}")
    *others, newest = (step_folder(folder, step) for step in sorted(steps[:count]))
    state, like = load_weights(newest)
    sums = {name: tensor.double() for name, tensor in like.items()}
    for path in others:  # one in memory at a time, summed in float64
        other, weights = load_weights(path)
        if (other.subword, other.model) != (state.subword, state.model) or weights.keys() != like.keys():
            raise CheckpointError(f"cannot average {path} with {newest}: their models differ")
        for name, tensor in weights.items():
            sums[name] += tensor
    mean = {name: (total / count).to(like[name].dtype) for name, total in sums.items()}
    averaged = replace(state, position={}, progress={}, score=None, average={}, averaged_steps=sorted(steps[:count]))
    return write_checkpoint(folder / AVERAGED, averaged, {MODEL_FILE: mean})


def snapshot(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return copies of `tensors` on the CPU, independent of further training."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}


class BackgroundWriter:
    """Runs one job at a time in a background thread; the next call raises the error of a failed job."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None

    def submit(self, job: Callable[[], None]) -> None:
        """Start `job` after the previous one; if that one failed, raise its error instead."""
        self.wait()
        self._pending = self._executor.submit(job)

    def wait(self) -> None:
        """Wait for the job; raise its error, but not again in later calls."""
        if self._pending is not None:
            try:
                self._pending.result()
            finally:
                if self._pending.done():  # a signal may interrupt the wait
                    self._pending = None

    def close(self) -> None:
        """Wait for the job, end the thread, and raise the error of the job."""
        try:
            self.wait()
        finally:
            self._executor.shutdown(wait=True)
