"""The learning rate of each update, and the optimizer of a model: AdamW (Loshchilov and Hutter 2019)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never

import torch
from torch import Tensor, nn

EPSILON: Final = 1e-9  # of Adam, as in Vaswani et al. 2017 §5.3
COSINE_FLOOR: Final = 0.01  # final learning rate of the cosine, as a share of the peak


# --- the learning rate ---


@dataclass(frozen=True)
class ScheduleSettings:
    """How the learning rate changes, and when dropout starts."""

    learning_rate: float  # peak
    schedule: Literal["inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    warmup_steps: int = 0
    max_steps: int = 100_000  # where the cosine ends
    dropout_from: int = 0  # update at which dropout and R-Drop start
    minutes: float | None = None  # the cosine and the start of dropout follow this time, if the machine is slow


def learning_rate(step: int, settings: ScheduleSettings, seconds: float = 0.0) -> float:
    """Return the learning rate of update number `step`, from 1, after `seconds` of training.

    All schedules rise linearly to the peak over `warmup_steps` updates. Then `inverse_sqrt` decays with the inverse
    square root of the step (Vaswani et al. 2017 §5.3); without warm-up, it decays from the first update on. `cosine`
    follows half a cosine down to a hundredth of the peak (Loshchilov and Hutter 2017). `constant` stays at the peak.

    >>> settings = ScheduleSettings(learning_rate=0.001, warmup_steps=100, schedule="inverse_sqrt")
    >>> [round(learning_rate(step, settings), 6) for step in (1, 50, 100, 400)]
    [1e-05, 0.0005, 0.001, 0.0005]
    """
    # 1. The warm-up.
    rate = settings.learning_rate
    warmup_steps = settings.warmup_steps
    if step <= warmup_steps:
        rate *= step / warmup_steps

    # 2. The decay after it.
    if settings.schedule == "cosine":
        # From 1 at the start of the decay (and before) to 0 at its end.
        decay_progress = _decay_progress(step, settings, seconds)
        half_cosine = 0.5 * (1.0 + math.cos(math.pi * decay_progress))
        return rate * (COSINE_FLOOR + (1.0 - COSINE_FLOOR) * half_cosine)
    if settings.schedule == "inverse_sqrt":
        if step <= warmup_steps:
            return rate
        return rate * math.sqrt(max(1, warmup_steps) / step)
    if settings.schedule == "constant":
        return rate
    assert_never(settings.schedule)


def drops(step: int, settings: ScheduleSettings, seconds: float = 0.0) -> bool:
    """Return whether an update has dropout, which starts at `dropout_from`; arguments as of `learning_rate`."""
    return _planned_step(step, settings, seconds) >= settings.dropout_from


def _decay_progress(step: int, settings: ScheduleSettings, seconds: float) -> float:
    """Return how much of the decay is over, by planned steps: 0 up to `warmup_steps`, 1 from `max_steps` on."""
    decay_steps = max(1, settings.max_steps - settings.warmup_steps)
    steps_after_warmup = _planned_step(step, settings, seconds) - settings.warmup_steps
    return min(1.0, max(0.0, steps_after_warmup / decay_steps))


def _planned_step(step: int, settings: ScheduleSettings, seconds: float) -> float:
    """Return how far a schedule of `max_steps` has come: at update `step`, or later if the clock says so.

    A slow machine cannot make `max_steps` updates in `minutes`. Then the share of the minutes that is over decides. It
    moves the cosine and the start of dropout; warm-up and inverse square root follow the updates alone.
    """
    if settings.minutes is None:
        return float(step)
    step_by_clock = settings.max_steps * seconds / (60.0 * settings.minutes)
    return max(float(step), step_by_clock)


# --- the optimizer ---


@dataclass(frozen=True)
class OptimizerSettings:
    """AdamW."""

    beta1: float = 0.9
    beta2: float = 0.98
    weight_decay: float = 0.0  # of matrices; biases and norms have none


class ModelOptimizer:
    """Updates the weights of a model by optimizers, which hold the moments: `optimizers`, by name."""

    def __init__(
        self,
        model: nn.Module,
        settings: OptimizerSettings,
        extra: Mapping[str, torch.optim.Optimizer] | None = None,
    ) -> None:
        """Take the weights of `model`.

        `extra` are optimizers by name, such as that of `speed/muon.py`, each with some of the weights in its groups.
        Like fused AdamW of torch, they read their attributes `grad_scale` and `found_inf` in each step.
        """
        extra = extra or {}

        # AdamW updates the weights that no other optimizer has.
        weights_of_extra: set[nn.Parameter] = set()
        for optimizer in extra.values():
            for group in optimizer.param_groups:
                weights_of_extra.update(group["params"])
        matrices: list[nn.Parameter] = []
        vectors: list[nn.Parameter] = []
        for weight in model.parameters():
            if weight in weights_of_extra:
                continue
            if weight.dim() >= 2:
                matrices.append(weight)
            else:
                vectors.append(weight)

        # Weight decay is for matrices only.
        groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
        adamw = torch.optim.AdamW(
            groups,
            lr=0.0,  # `update` sets it
            betas=(settings.beta1, settings.beta2),
            eps=EPSILON,
            weight_decay=settings.weight_decay,
            fused=True,  # only the fused form reads `grad_scale`
        )
        self.optimizers: dict[str, Any] = {"optimizer": adamw, **extra}

    @property
    def scale(self) -> Tensor | float:
        """A factor of the loss, and so of the gradients: 1, but for float16 (`speed/loss_scale.py`)."""
        return 1.0

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The parameter groups of all optimizers."""
        groups = []
        for optimizer in self.optimizers.values():
            groups += optimizer.param_groups
        return groups

    def update(self, rate: float, divisor: Tensor | float, finite: Tensor) -> None:
        """Update the weights by their gradients, without GPU synchronization.

        The gradients keep their memory; their values are divided in place.

        Args:
            rate: learning rate.
            divisor: () by which the gradients are divided: for clipping, times `scale`.
            finite: () bool; False leaves weights and moments unchanged.
        """
        for group in self.groups:
            group["lr"] = rate

        # The fused kernel divides gradients by `grad_scale`, and skips the update if `found_inf` is 1. So the decision
        # falls on the GPU, and the program need not wait. Torch has both attributes for its `GradScaler`.
        found_inf = (~finite).float()
        for optimizer in self.optimizers.values():
            # A number is always 1: it means that there is neither clipping nor a loss scale.
            optimizer.grad_scale = divisor if isinstance(divisor, Tensor) else None
            optimizer.found_inf = found_inf
            optimizer.step()
