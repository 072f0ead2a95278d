"""The optimizer of a model, AdamW (Loshchilov and Hutter 2019), and the learning rate of each update."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

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
    """Return the learning rate of update number `step`.

    All schedules rise linearly to the peak over `warmup_steps` updates. Then `inverse_sqrt` decays with the inverse
    square root of the step (Vaswani et al. 2017 §5.3); no warm-up is like one of a single update. `cosine` follows half
    a cosine down to a hundredth of the peak (Loshchilov and Hutter 2017). `constant` stays at the peak.

    Args:
        step: number of the update, from 1.
        settings: the settings of the schedule.
        seconds: time the run took before the update.

    >>> settings = ScheduleSettings(learning_rate=0.001, warmup_steps=100, schedule="inverse_sqrt")
    >>> [round(learning_rate(step, settings), 6) for step in (1, 50, 100, 400)]
    [1e-05, 0.0005, 0.001, 0.0005]
    """
    rate = settings.learning_rate
    warmup_steps = settings.warmup_steps
    if step <= warmup_steps:
        rate *= step / warmup_steps
    if settings.schedule == "cosine":
        return rate * _cosine_factor(step, settings, seconds)
    if settings.schedule == "inverse_sqrt" and step > warmup_steps:
        return rate * math.sqrt(max(1, warmup_steps) / step)
    return rate


def drops(step: int, settings: ScheduleSettings, seconds: float = 0.0) -> bool:
    """Return whether an update has dropout, which starts at `dropout_from`; arguments as of `learning_rate`."""
    return _planned_step(step, settings, seconds) >= settings.dropout_from


def _cosine_factor(step: int, settings: ScheduleSettings, seconds: float) -> float:
    """Return the share of the peak, from 1 at the end of the warm-up to `COSINE_FLOOR` at `max_steps`."""
    decay_steps = max(1, settings.max_steps - settings.warmup_steps)
    steps_after_warmup = _planned_step(step, settings, seconds) - settings.warmup_steps
    progress = min(1.0, max(0.0, steps_after_warmup / decay_steps))
    half_cosine = 0.5 * (1.0 + math.cos(math.pi * progress))
    return COSINE_FLOOR + (1.0 - COSINE_FLOOR) * half_cosine


def _planned_step(step: int, settings: ScheduleSettings, seconds: float) -> float:
    """Return the place of update `step` in a schedule of `max_steps`: by the clock of `minutes`, if that is later."""
    if settings.minutes is None:
        return float(step)
    step_by_clock = settings.max_steps * seconds / (60.0 * settings.minutes)
    return max(float(step), step_by_clock)


# --- the optimizer ---


@dataclass(frozen=True)
class OptimizerSettings:
    """AdamW, and the clipping of gradients."""

    beta1: float = 0.9
    beta2: float = 0.98
    weight_decay: float = 0.0  # of matrices; biases and norms have none
    clip: float | None = 1.0  # maximum L2 norm of the gradient of all weights (Pascanu et al. 2013); None: no clipping


class MatrixOptimizer(Protocol):
    """Another rule for some of the weights, such as `speed/muon.py`."""

    param_groups: list[dict[str, Any]]

    def step(self, finite: Tensor, gradient_scale: Tensor | None) -> None:
        """Update its weights if `finite` (), by gradients that it divides by `gradient_scale` ()."""

    def state_dict(self) -> dict[str, Any]:
        """Return its state, as optimizers of torch do."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`."""


class ModelOptimizer:
    """Updates the weights of a model, and holds the optimizer's moments."""

    def __init__(
        self, model: nn.Module, settings: OptimizerSettings, apart: Mapping[str, MatrixOptimizer] | None = None
    ) -> None:
        """Take the weights of `model`; those of the optimizers `apart`, by name, are updated by these."""
        self._clip = settings.clip
        self._apart = dict(apart or {})
        matrices: list[nn.Parameter] = []
        vectors: list[nn.Parameter] = []
        for weight in _weights_without(model, self._apart):
            (matrices if weight.dim() >= 2 else vectors).append(weight)
        # A checkpoint numbers the weights of an optimizer in the order of its groups.
        groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
        self._adamw = torch.optim.AdamW(
            groups,
            lr=0.0,  # `update` sets it
            betas=(settings.beta1, settings.beta2),
            eps=EPSILON,
            weight_decay=settings.weight_decay,
            fused=True,
        )
        self._optimizers: dict[str, Any] = {"optimizer": self._adamw, **self._apart}

    @property
    def scale(self) -> Tensor | float:
        """A factor of the loss, by which `update` divides the gradients: 1, but for float16 (`speed/loss_scale.py`)."""
        return 1.0

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The parameter groups of all optimizers."""
        groups = []
        for optimizer in self._optimizers.values():
            groups += optimizer.param_groups
        return groups

    def update(self, rate: float, gradient_norm: Tensor, finite: Tensor) -> None:
        """Update the weights by their gradients, without GPU synchronization.

        The gradients keep their memory; their values are divided in place by the loss scale and by clipping.

        Args:
            rate: learning rate.
            gradient_norm: () L2 norm of the whole gradient, without the loss scale.
            finite: () bool; False leaves weights and moments unchanged.
        """
        for group in self.groups:
            group["lr"] = rate
        gradient_scale = self._gradient_scale(gradient_norm)
        # The fused kernel divides gradients by `grad_scale`, and skips the update if `found_inf` is 1. Both attributes
        # are made for `torch.amp.GradScaler`.
        adamw: Any = self._adamw
        adamw.grad_scale = gradient_scale
        adamw.found_inf = (~finite).float()
        self._adamw.step()
        adamw.grad_scale = None
        adamw.found_inf = None
        for optimizer in self._apart.values():
            optimizer.step(finite, gradient_scale)

    def _gradient_scale(self, gradient_norm: Tensor) -> Tensor | None:
        """Return the () divisor of the gradients, from clipping and loss scale; None for 1."""
        scale = self.scale if isinstance(self.scale, Tensor) else None
        if self._clip is None:
            return scale
        clipping = (gradient_norm / self._clip).clamp(min=1.0)
        return clipping if scale is None else clipping * scale

    def tensors(self) -> dict[str, Tensor]:
        """Return moments and counts by `OPTIMIZER.NUMBER.KIND`, for a file of tensors.

        OPTIMIZER is `optimizer` (AdamW) or the name of one apart; NUMBER is that of the weight.
        """
        tensors = {}
        for name, optimizer in self._optimizers.items():
            for number, moments in optimizer.state_dict()["state"].items():
                for kind, tensor in moments.items():
                    tensors[f"{name}.{number}.{kind}"] = tensor
        return tensors

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Load the result of `tensors`; learning rate and other settings keep their current values.

        Raises KeyError: `tensors` has an optimizer that this one lacks.
        """
        states: dict[str, dict[int, dict[str, Tensor]]] = {}
        for name in self._optimizers:
            states[name] = defaultdict(dict)
        # Sort the tensors by optimizer and weight.
        for key, tensor in tensors.items():
            name, number, kind = key.split(".", 2)
            if name != "loss_scale":  # see `speed/loss_scale.py`; a run may change its precision
                states[name][int(number)][kind] = tensor
        for name, optimizer in self._optimizers.items():
            settings = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": states[name], "param_groups": settings})


def _weights_without(model: nn.Module, apart: Mapping[str, MatrixOptimizer]) -> Iterator[nn.Parameter]:
    """Yield the weights of `model` that no optimizer `apart` updates."""
    taken: set[nn.Parameter] = set()
    for optimizer in apart.values():
        for group in optimizer.param_groups:
            taken.update(group["params"])
    for weight in model.parameters():
        if weight not in taken:
            yield weight
