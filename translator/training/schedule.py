"""Schedules of training: the learning rate of each update, and the update at which dropout starts."""

import math
from typing import Final

from translator.config import TrainingConfig

COSINE_FLOOR: Final = 0.01  # final learning rate of the cosine, as a share of the peak


def learning_rate(step: int, config: TrainingConfig, seconds: float = 0.0) -> float:
    """Return the learning rate of update number `step`.

    All schedules rise linearly to `config.learning_rate` over `warmup_steps` updates. Then `inverse_sqrt` decays with
    the inverse square root of the step (Vaswani et al. 2017 §5.3). `cosine` follows half a cosine down to a hundredth
    of the peak (Loshchilov and Hutter 2017). `constant` stays at the peak.

    Args:
        step: number of the update, from 1.
        config: the settings of the schedule.
        seconds: time the run took before the update.

    >>> config = TrainingConfig(learning_rate=0.001, warmup_steps=100, schedule="inverse_sqrt")
    >>> [round(learning_rate(step, config), 6) for step in (1, 50, 100, 400)]
    [1e-05, 0.0005, 0.001, 0.0005]
    """
    rate = config.learning_rate
    warmup_steps = config.warmup_steps
    if step <= warmup_steps:
        rate *= step / warmup_steps
    if config.schedule == "cosine":
        return rate * _cosine_factor(step, config, seconds)
    if config.schedule == "inverse_sqrt" and step > warmup_steps:
        return rate * math.sqrt(warmup_steps / step)
    return rate


def drops(step: int, config: TrainingConfig, seconds: float = 0.0) -> bool:
    """Return whether an update has dropout, which starts at `dropout_from`.

    Args:
        step: number of the update, from 1.
        config: the settings of the schedule.
        seconds: time the run took before the update.
    """
    return _planned_step(step, config, seconds) >= config.dropout_from


def _cosine_factor(step: int, config: TrainingConfig, seconds: float) -> float:
    """Return the share of the peak, from 1 at the end of the warm-up to `COSINE_FLOOR` at `max_steps`."""
    decay_steps = max(1, config.max_steps - config.warmup_steps)
    steps_after_warmup = _planned_step(step, config, seconds) - config.warmup_steps
    progress = min(1.0, max(0.0, steps_after_warmup / decay_steps))
    half_cosine = 0.5 * (1.0 + math.cos(math.pi * progress))
    return COSINE_FLOOR + (1.0 - COSINE_FLOOR) * half_cosine


def _planned_step(step: int, config: TrainingConfig, seconds: float) -> float:
    """Return the position of update `step` in a schedule of `max_steps`.

    It is `step`, or with `schedule_clock: minutes` the elapsed share of `max_minutes` times `max_steps`, if larger.
    """
    if config.schedule_clock != "minutes" or config.max_minutes is None:
        return float(step)
    step_by_clock = config.max_steps * seconds / (60.0 * config.max_minutes)
    return max(float(step), step_by_clock)
