"""The learning rate as a pure function of how far training has come, so that there is no state to save."""

import math

from translator.config import TrainingConfig

COSINE_FLOOR = 0.01
"""Where the cosine ends, as a share of the peak."""


def learning_rate(step: int, config: TrainingConfig, seconds: float = 0.0) -> float:
    """Return the learning rate of update number `step`, counted from 1.

    All rise linearly to `config.learning_rate` over `warmup_steps` updates. `inverse_sqrt` then falls with the
    square root of the step (Vaswani et al. 2017 §5.3, with the peak given outright); `cosine` falls along half a cosine
    (Loshchilov and Hutter 2017) to a hundredth of the peak at `max_steps`; `constant` stays. With
    `schedule_clock: minutes` the cosine is where the limit that training is nearer to would have it, so that it ends
    with `max_minutes` on a machine that does not come to `max_steps` by then. As long as the steps are ahead of the
    minutes the rates are those of steps.

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
        done = min(1.0, max(0.0, _share_after_warm_up(step, config, seconds)))
        return peak * (COSINE_FLOOR + (1.0 - COSINE_FLOOR) * 0.5 * (1.0 + math.cos(math.pi * done)))
    if config.schedule == "inverse_sqrt" and step > warmup:
        return peak * math.sqrt(max(warmup, 1) / step)
    return peak


def _share_after_warm_up(step: int, config: TrainingConfig, seconds: float) -> float:
    """Return the share of what follows the warm-up that lies behind, by the limit that is nearer; below 0 in it."""
    after = max(1, config.max_steps - config.warmup_steps)
    share = (step - config.warmup_steps) / after
    if config.schedule_clock == "minutes" and config.max_minutes is not None:
        steps_by_time = config.max_steps * seconds / (60.0 * config.max_minutes)
        share = max(share, (steps_by_time - config.warmup_steps) / after)
    return share
