"""The training loop: updates, validations and saves, until a limit is reached.

After each update, the loop asks in this order:

    1. Is a checkpoint due, and no validation?      Save.
    2. Is a validation due, as at each end?         Validate, which also saves.
    3. Is a limit reached?                          Save what is not saved. The training is over.
    4. Does any rank have to stop?                  Leave before the next update. The caller saves.

Without text to validate on (`validate_every` is None), no validation is ever due.

A run on several ranks has one loop on each. All make the same decisions, because all numbers that decide are the same
on all: the ranks exchange a `Tick` before each update.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:  # they import torch, which the rules of this file do not need
    from translator.core.batch import StepBatches
    from translator.core.update import Learner, StepResult


@dataclass(frozen=True)
class LoopSettings:
    """When a training validates and saves, and what ends it."""

    max_steps: int  # updates
    save_every: int  # updates between two checkpoints
    validate_every: int | None = None  # updates between two validations; None: there is nothing to validate on
    max_minutes: float | None = None
    early_stopping: int | None = None  # validations in a row without a better score


@dataclass
class Progress:
    """How far a training has come."""

    step: int = 0  # updates
    target_tokens: int = 0
    seconds: float = 0.0  # of training and validation, over all restarts
    validated_step: int = 0  # step of the last validation
    validations_without_gain: int = 0


class Tick(NamedTuple):
    """What ranks tell each other."""

    seconds: float  # since the last tick: the update before it, and the wait for the next batches
    waiting: float  # of them, seconds of waiting for batches
    stop: bool  # whether a stop is requested


def one_process(tick: Tick) -> Tick:
    """Return the tick of the only rank; `training/distributed.py` exchanges those of several."""
    return tick


class Clock:
    """Counts the time of a training, the same on all ranks, and tells whether any of them has to stop.

    Time counts when it ticks. `train` lets it tick before each update; a run may do so in a validation or a save.
    """

    def __init__(
        self,
        progress: Progress,
        exchange: Callable[[Tick], Tick] = one_process,
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> None:
        self._progress = progress
        self._exchange = exchange
        self._stop_requested = stop_requested
        self._time = time.monotonic()  # up to which `progress.seconds` counts

    def tick(self, waiting: float = 0.0) -> Tick:
        """Count the time since the last tick, and return what all ranks say, the same on each."""
        now = time.monotonic()
        tick = self._exchange(Tick(seconds=now - self._time, waiting=waiting, stop=self._stop_requested()))
        self._time = now
        self._progress.seconds += tick.seconds
        return tick


class Surroundings(Protocol):
    """What a run does around its updates."""

    def updated(self, result: "StepResult", tick: Tick) -> None:
        """Report an update, which `Progress` counts already."""

    def validate(self) -> None:
        """Validate, record it in `Progress`, and save the state."""

    def save(self) -> None:
        """Save the state, unless it is saved."""


def stopping(progress: Progress, settings: LoopSettings) -> str | None:
    """Return the name of the limit that a training has reached; None if it goes on."""
    if progress.step >= settings.max_steps:
        return "max_steps"
    if settings.max_minutes is not None and progress.seconds >= 60 * settings.max_minutes:
        return "max_minutes"
    if settings.early_stopping is not None and progress.validations_without_gain >= settings.early_stopping:
        return "early_stopping"
    return None


def validation_is_due(progress: Progress, settings: LoopSettings) -> bool:
    """Return whether this step has to be validated and is not yet; a stop may have come between.

    That is so at each multiple of `validate_every`, and at the end of the training.
    """
    if settings.validate_every is None or progress.step <= progress.validated_step:
        return False
    return progress.step % settings.validate_every == 0 or stopping(progress, settings) is not None


def train(
    learner: "Learner",
    batches: Iterator["StepBatches"],
    progress: Progress,
    settings: LoopSettings,
    surroundings: Surroundings,
    clock: Clock | None = None,
) -> str | None:
    """Train from `progress` on, and advance it; return the limit that ended the training.

    Return None after a request to stop; the caller then saves. `batches` is endless: it yields the batches of one
    update after the other, from the update after `progress.step` on. By default, the clock is that of one process.
    """
    clock = clock or Clock(progress)
    while True:
        # 1. Validate where it is due, and end at a limit.
        if validation_is_due(progress, settings):
            surroundings.validate()
        limit = stopping(progress, settings)
        if limit is not None:
            surroundings.save()
            return limit

        # 2. Wait for the next batches; then, in `tick`, for the other ranks.
        wait_began = time.perf_counter()
        step_batches = next(batches)
        tick = clock.tick(waiting=time.perf_counter() - wait_began)
        if tick.stop:
            return None  # a resumed run begins with these batches, which `progress` does not count

        # 3. Update the weights, and report it.
        result = learner.update(step_batches, progress.step + 1, progress.seconds)
        progress.step += 1
        progress.target_tokens += step_batches.target_tokens
        surroundings.updated(result, tick)

        # 4. Save where it is due, unless a validation comes next, which saves, too.
        if progress.step % settings.save_every == 0 and not validation_is_due(progress, settings):
            surroundings.save()
