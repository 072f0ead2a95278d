"""AdamW (Kingma and Ba 2015; Loshchilov and Hutter 2019), Muon (Jordan et al. 2024), schedules, averaged weights."""

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from translator.config import TrainingConfig
from translator.model.device import bf16_pays
from translator.model.layers import FusedLinear

EPSILON: Final = 1e-9  # of Adam, as in Vaswani et al. 2017 §5.3
MOMENTUM: Final = 0.95  # of Muon, as in Jordan et al. 2024
ITERATIONS: Final = 3  # of Newton-Schulz in Muon
COEFFICIENTS: Final = (3.4445, -4.7750, 2.0315)  # of x, x·xᵀ·x and (x·xᵀ)²·x, as in Jordan et al. 2024
STEADY: Final = 2000  # updates with finite gradients after which the loss scale grows
COSINE_FLOOR: Final = 0.01  # final learning rate of the cosine, as a share of the peak


def learning_rate(step: int, config: TrainingConfig, seconds: float = 0.0) -> float:
    """Return the learning rate of update number `step`, counted from 1; `seconds` is the time the run took before it.

    All schedules rise linearly to `config.learning_rate` over `warmup_steps` updates. Then `inverse_sqrt` decays with
    the inverse square root of the step (Vaswani et al. 2017 §5.3). `cosine` follows half a cosine down to a hundredth
    of the peak (Loshchilov and Hutter 2017). `constant` stays at the peak.

    >>> config = TrainingConfig(learning_rate=0.001, warmup_steps=100, schedule="inverse_sqrt")
    >>> [round(learning_rate(step, config), 6) for step in (1, 50, 100, 400)]
    [1e-05, 0.0005, 0.001, 0.0005]
    """
    peak, warmup = config.learning_rate, config.warmup_steps
    if step <= warmup:
        peak *= step / warmup
    if config.schedule == "cosine":
        after = max(1, config.max_steps - warmup)
        done = min(1.0, max(0.0, (_planned_step(step, config, seconds) - warmup) / after))
        return peak * (COSINE_FLOOR + (1.0 - COSINE_FLOOR) * 0.5 * (1.0 + math.cos(math.pi * done)))
    if config.schedule == "inverse_sqrt" and step > warmup:
        return peak * math.sqrt(warmup / step)
    return peak


def drops(step: int, config: TrainingConfig, seconds: float = 0.0) -> bool:
    """Return whether update number `step` has dropout, which starts at `dropout_from`; arguments as `learning_rate`."""
    return _planned_step(step, config, seconds) >= config.dropout_from


def _planned_step(step: int, config: TrainingConfig, seconds: float) -> float:
    """Return the position of update `step` in a schedule of `max_steps`.

    It is `step`, or with `schedule_clock: minutes` the elapsed share of `max_minutes` times `max_steps`, if larger.
    """
    if config.schedule_clock == "minutes" and config.max_minutes is not None:
        return max(float(step), config.max_steps * seconds / (60.0 * config.max_minutes))
    return float(step)


class LossScale:
    """Dynamic loss scaling: keeps gradients in the range of fp16 (Micikevicius et al. 2018 §3.2).

    The factor halves after an update with a non-finite gradient, and doubles after 2,000 updates without one.
    """

    def __init__(self, device: torch.device) -> None:
        self.state = {
            "factor": torch.full((), 2.0**16, device=device),
            "since_change": torch.zeros((), dtype=torch.int32, device=device),
        }

    def adapt(self, finite: Tensor) -> None:
        """Adjust the factor after an update, without GPU synchronization."""
        factor, since = self.state["factor"], self.state["since_change"] + 1
        grown = torch.where(since >= STEADY, 2.0 * factor, factor)
        self.state["factor"] = torch.where(finite, grown, 0.5 * factor)
        self.state["since_change"] = torch.where(finite & (since < STEADY), since, 0)


class ModelOptimizer:
    """Updates the weights of a model, and holds the optimizer's moments.

    AdamW updates all weights; with `optimizer: muon`, Muon updates the matrices of encoder and decoder layers. Both
    share a learning rate: Muon's update is scaled to AdamW's (Liu et al. 2025, "Muon is scalable for LLM training").
    """

    def __init__(self, model: nn.Module, config: TrainingConfig, loss_scale: LossScale | None = None) -> None:
        self._loss_scale = loss_scale
        blocks_of = {module.weight: module.blocks for module in model.modules() if isinstance(module, FusedLinear)}
        matrices, vectors, of_muon = [], [], defaultdict(list)
        for name, weight in model.named_parameters():
            if weight.dim() < 2:
                vectors.append(weight)
            elif config.optimizer == "muon" and name.startswith(("encoder.", "decoder.")):
                of_muon[blocks_of.get(weight, 1)].append(weight)
            else:
                matrices.append(weight)
        common: dict[str, Any] = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
        groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
        betas = config.beta1, config.beta2
        self._adamw = torch.optim.AdamW(groups, betas=betas, eps=EPSILON, fused=True, **common)
        self._parts: dict[str, torch.optim.Optimizer] = {"optimizer": self._adamw}
        if of_muon:
            self._parts["muon"] = Muon({"params": some, "blocks": n, **common} for n, some in of_muon.items())

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The parameter groups of the torch optimizers."""
        return [group for part in self._parts.values() for group in part.param_groups]

    @property
    def scale(self) -> Tensor | float:
        """The loss scale: a factor of the loss, by which `update` divides the gradients."""
        return 1.0 if self._loss_scale is None else self._loss_scale.state["factor"]

    @property
    def gradients(self) -> list[Tensor]:
        """All existing gradients."""
        return [weight.grad for group in self.groups for weight in group["params"] if weight.grad is not None]

    def update(self, rate: float, gradient_norm: Tensor, finite: Tensor, clip: float | None) -> None:
        """Update the weights by their gradients, and clear the gradients.

        AdamW's fused kernel divides gradients by `grad_scale` and skips the update if `found_inf` is set, both made
        for `torch.amp.GradScaler`. Clipping (Pascanu et al. 2013) and skipping use them, without GPU synchronization.
        Muon has no fused kernel and synchronizes to read `finite`.

        Args:
            rate: learning rate.
            gradient_norm: () L2 norm of the whole gradient, without the loss scale.
            finite: () bool; False leaves weights and moments unchanged.
            clip: maximum norm of the gradient; a longer gradient is scaled down to it. None disables clipping.
        """
        for group in self.groups:
            group["lr"] = rate
        scale = None if clip is None else (gradient_norm / clip).clamp(min=1.0)
        if self._loss_scale is not None:
            factor = self._loss_scale.state["factor"]
            scale = factor if scale is None else scale * factor
            self._loss_scale.adapt(finite)
        adamw: Any = self._adamw
        adamw.grad_scale, adamw.found_inf = scale, (~finite).float()
        self._adamw.step()
        adamw.grad_scale = adamw.found_inf = None
        muon = self._parts.get("muon")
        if muon is not None and finite:
            if scale is not None:
                for weight in (weight for group in muon.param_groups for weight in group["params"]):
                    weight.grad.div_(scale)
            muon.step()
        for part in self._parts.values():
            part.zero_grad(set_to_none=True)

    def tensors(self) -> dict[str, Tensor]:
        """Return moments and counts for safetensors, by `PART.NUMBER.KIND`; PART: `optimizer`, `muon`, `loss_scale`."""
        scale = {} if self._loss_scale is None else self._loss_scale.state
        return {f"loss_scale.0.{kind}": value for kind, value in scale.items()} | {
            f"{name}.{number}.{kind}": value
            for name, part in self._parts.items()
            for number, entry in part.state_dict()["state"].items()
            for kind, value in entry.items()
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Load the result of `tensors`; learning rate and other settings keep their current values."""
        states: dict[str, dict[int, dict[str, Tensor]]] = {name: defaultdict(dict) for name in self._parts}
        for key, tensor in tensors.items():
            name, number, kind = key.split(".", 2)
            if name == "loss_scale":
                if self._loss_scale is not None:
                    self._loss_scale.state[kind] = tensor.to(self._loss_scale.state[kind].device)
                continue
            states[name][int(number)][kind] = tensor
        for name, part in self._parts.items():
            part.load_state_dict({"state": states[name], "param_groups": part.state_dict()["param_groups"]})


class Muon(torch.optim.Optimizer):
    """Muon as `torch.optim.Muon(adjust_lr_fn="match_rms_adamw", ns_steps=3)`, batched, for fused projections too.

    The momentum of the gradient is orthonormalized approximately, so that all directions are learned at a similar rate.
    All matrices of one shape are multiplied in one batch, which is faster for small models than torch's loop.

    A group has `params`, `lr`, `weight_decay` and optionally `blocks`, the number of matrices stacked in each of its
    weights, as in the projection to queries, keys and values. Each matrix is orthonormalized separately.
    """

    def __init__(self, groups: Iterable[dict[str, Any]]) -> None:
        super().__init__(groups, {"blocks": 1})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # torch's accepts a closure
        """Update every weight that has a gradient."""
        of_shape = defaultdict(list)
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                if not self.state[weight]:
                    self.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
                moment = self.state[weight]["momentum_buffer"].lerp_(weight.grad, 1.0 - MOMENTUM)
                nesterov = torch.lerp(weight.grad, moment, MOMENTUM)  # Nesterov's look-ahead
                weight.mul_(1.0 - group["lr"] * group["weight_decay"])
                for part, update in zip(weight.chunk(group["blocks"]), nesterov.chunk(group["blocks"]), strict=True):
                    of_shape[part.shape].append((part, update, group["lr"]))
        for shape, matrices in of_shape.items():
            stack = torch.stack([update for _, update, _ in matrices])
            orthonormal = near_orthonormal(stack, torch.bfloat16 if bf16_pays(stack.device) else torch.float32)
            for (part, _, rate), update in zip(matrices, orthonormal, strict=True):
                part.add_(update, alpha=-rate * 0.2 * max(shape) ** 0.5)  # the RMS of an AdamW update


def near_orthonormal(matrices: Tensor, precision: torch.dtype) -> Tensor:
    """Return `matrices` (N, R, C) with their singular values near 1, computed in `precision`.

    Three Newton-Schulz iterations (Jordan et al. 2024), for which bf16 suffices, bring singular values above 1/80 of
    the Frobenius norm to between about 0.5 and 1.2. Five, as in that work, do so from 1/1000 on; they take longer and
    do not lower our validation loss.
    """
    tall = matrices.shape[1] > matrices.shape[2]
    x = (matrices.mT if tall else matrices).to(precision)
    x = x / torch.linalg.matrix_norm(x, keepdim=True).clamp(min=1e-7)  # no singular value is above 1
    first, third, fifth = COEFFICIENTS
    for _ in range(ITERATIONS):
        square = torch.bmm(x, x.mT)
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=third, alpha=fifth), x, beta=first)
    return x.mT if tall else x


def moving_average(model: nn.Module, decay: float) -> AveragedModel:
    """Return an exponential moving average of `model`'s weights; call its `update_parameters(model)` after each update.

    Call number n has the decay min(decay, n / (9 + n)), so that the influence of the first weights fades quickly.
    """

    def average(averages: Any, weights: Any, _: Any) -> None:
        done = int(averaged.n_averaged)
        get_ema_multi_avg_fn(min(decay, (1 + done) / (10 + done)))(averages, weights, done)  # type: ignore[no-untyped-call]

    averaged = AveragedModel(model, multi_avg_fn=average)
    return averaged
