"""The learning rate as a pure function of the step, so that there is no state to save."""

import math

from translator.config import TrainingConfig

COSINE_FLOOR = 0.01
"""Where the cosine ends, as a share of the peak."""


def learning_rate(step: int, config: TrainingConfig) -> float:
    """Return the learning rate of update number `step`, counted from 1.

    All rise linearly to `config.learning_rate` over `warmup_steps` updates. `inverse_sqrt` then falls with the
    square root of the step (Vaswani et al. 2017 §5.3, with the peak given outright); `cosine` falls along half a cosine
    (Loshchilov and Hutter 2017) to a hundredth of the peak at `max_steps`; `constant` stays.

    >>> config = TrainingConfig(learning_rate=0.001, warmup_steps=100, schedule="inverse_sqrt")
    >>> [round(learning_rate(step, config), 6) for step in (1, 50, 100, 400)]
    [1e-05, 0.0005, 0.001, 0.0005]
    """
    peak, warmup = config.learning_rate, config.warmup_steps
    if step <= warmup:
        return peak * step / warmup
    if config.schedule == "inverse_sqrt":
        return peak * math.sqrt(max(warmup, 1) / step)
    if config.schedule == "cosine":
        done = min(1.0, (step - warmup) / max(1, config.max_steps - warmup))
        return peak * (COSINE_FLOOR + (1.0 - COSINE_FLOOR) * 0.5 * (1.0 + math.cos(math.pi * done)))
    return peak
