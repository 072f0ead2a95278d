"""Schedules of the learning rate and of dropout, as pure functions of how far training has come.

So there is no state to save.
"""

import math

from translator.config import TrainingConfig

COSINE_FLOOR = 0.01
"""Where the cosine ends, as a share of the peak."""


def learning_rate(step: int, config: TrainingConfig, seconds: float = 0.0) -> float:
    """Return the learning rate of update number `step`, counted from 1.

    All rise linearly to `config.learning_rate` over `warmup_steps` updates. `inverse_sqrt` then falls with the
    square root of the step (Vaswani et al. 2017 §5.3, with the peak given outright); `cosine` falls along half a cosine
    (Loshchilov and Hutter 2017) to a hundredth of the peak at `max_steps`; `constant` stays. With
    `schedule_clock: minutes` the cosine goes by `planned_step`, so that it ends with `max_minutes` on a machine that
    does not come to `max_steps` by then.

    Args:
        step: of the update.
        config: of the run.
        seconds: that the run has taken before the update; asked only where the minutes are the clock.

    >>> config = TrainingConfig(learning_rate=0.001, warmup_steps=100, schedule="inverse_sqrt")
    >>> [round(learning_rate(step, config), 6) for step in (1, 50, 100, 400)]
    [1e-05, 0.0005, 0.001, 0.0005]
    """
    peak, warmup = config.learning_rate, config.warmup_steps
    if step <= warmup:
        peak *= step / warmup
    if config.schedule == "cosine":
        after = max(1, config.max_steps - warmup)
        done = min(1.0, max(0.0, (planned_step(step, config, seconds) - warmup) / after))
        return peak * (COSINE_FLOOR + (1.0 - COSINE_FLOOR) * 0.5 * (1.0 + math.cos(math.pi * done)))
    if config.schedule == "inverse_sqrt" and step > warmup:
        return peak * math.sqrt(max(warmup, 1) / step)
    return peak


def drops(step: int, config: TrainingConfig, seconds: float = 0.0) -> bool:
    """Return whether update number `step` has dropout; arguments as for `learning_rate`.

    It begins with `dropout_from`, a place in the plan: a machine that is behind its minutes comes to it sooner.
    """
    return planned_step(step, config, seconds) >= config.dropout_from


def planned_step(step: int, config: TrainingConfig, seconds: float) -> float:
    """Return the update that the plan of `max_steps` has where this one is; arguments as for `learning_rate`.

    It is `step` itself, but with `schedule_clock: minutes` on a machine that is behind: after half of `max_minutes` it
    is half of `max_steps`, however few were done. The warm-up alone is counted in updates that were done.
    """
    if config.schedule_clock == "minutes" and config.max_minutes is not None:
        return max(float(step), config.max_steps * seconds / (60.0 * config.max_minutes))
    return float(step)
