"""The optimizer of a model: AdamW (Loshchilov and Hutter 2019) for all weights, or Muon for some of them."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor, nn

from translator.config import TrainingConfig
from translator.model.layers import FusedLinear
from translator.training.loss_scale import LossScale
from translator.training.muon import Muon

EPSILON: Final = 1e-9  # of Adam, as in Vaswani et al. 2017 §5.3


@dataclass
class WeightKinds:
    """The weights of a model, by the rule that updates them."""

    matrices: list[nn.Parameter] = field(default_factory=list)  # AdamW with weight decay
    vectors: list[nn.Parameter] = field(default_factory=list)  # AdamW without weight decay: biases, norms
    muon: dict[int, list[nn.Parameter]] = field(default_factory=dict)
    """Weights for Muon, by the number of matrices stacked in each."""


def sort_weights(model: nn.Module, *, use_muon: bool) -> WeightKinds:
    """Return the weights of `model` by kind; with `use_muon`, the matrices of encoder and decoder layers are Muon's."""
    blocks_by_weight: dict[Tensor, int] = {}
    for module in model.modules():
        if isinstance(module, FusedLinear):
            blocks_by_weight[module.weight] = module.blocks
    kinds = WeightKinds()
    for name, weight in model.named_parameters():
        if weight.dim() < 2:
            kinds.vectors.append(weight)
        elif use_muon and name.startswith(("encoder.", "decoder.")):
            blocks = blocks_by_weight.get(weight, 1)
            kinds.muon.setdefault(blocks, []).append(weight)
        else:
            kinds.matrices.append(weight)
    return kinds


class ModelOptimizer:
    """Updates the weights of a model, and holds the optimizer's moments.

    AdamW updates all weights; with `optimizer: muon`, Muon updates the matrices of encoder and decoder layers. Both
    share a learning rate: Muon's update is scaled to AdamW's (Liu et al. 2025, "Muon is scalable for LLM training").
    """

    def __init__(self, model: nn.Module, config: TrainingConfig, loss_scale: LossScale | None = None) -> None:
        self._loss_scale = loss_scale
        kinds = sort_weights(model, use_muon=config.optimizer == "muon")
        # A checkpoint numbers the weights of an optimizer in the order of its groups.
        adamw_groups: list[dict[str, Any]] = [
            {"params": kinds.matrices},
            {"params": kinds.vectors, "weight_decay": 0.0},
        ]
        self._adamw = torch.optim.AdamW(
            adamw_groups,
            lr=config.learning_rate,
            betas=(config.beta1, config.beta2),
            eps=EPSILON,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self._optimizers: dict[str, torch.optim.Optimizer] = {"optimizer": self._adamw}
        self._muon: Muon | None = None
        if kinds.muon:
            muon_groups = [{"params": weights, "blocks": blocks} for blocks, weights in kinds.muon.items()]
            self._muon = Muon(muon_groups, config.learning_rate, config.weight_decay)
            self._optimizers["muon"] = self._muon

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The parameter groups of the torch optimizers."""
        groups = []
        for optimizer in self._optimizers.values():
            groups += optimizer.param_groups
        return groups

    @property
    def scale(self) -> Tensor | float:
        """The loss scale: a factor of the loss, by which `update` divides the gradients."""
        if self._loss_scale is None:
            return 1.0
        return self._loss_scale.state["factor"]

    def update(self, rate: float, gradient_norm: Tensor, finite: Tensor, clip: float | None) -> None:
        """Update the weights by their gradients, without GPU synchronization.

        The gradients keep their memory; their values are divided in place by the loss scale and by clipping.

        Args:
            rate: learning rate.
            gradient_norm: () L2 norm of the whole gradient, without the loss scale.
            finite: () bool; False leaves weights and moments unchanged.
            clip: maximum norm of the gradient; a longer gradient is scaled down to it (Pascanu et al. 2013). None
                disables clipping.
        """
        for group in self.groups:
            group["lr"] = rate
        gradient_scale = self._gradient_scale(gradient_norm, clip)
        if self._loss_scale is not None:
            self._loss_scale.adapt(finite)
        # The fused kernel divides gradients by `grad_scale`, and skips the update if `found_inf` is 1. Both attributes
        # are made for `torch.amp.GradScaler`.
        adamw: Any = self._adamw
        adamw.grad_scale = gradient_scale
        adamw.found_inf = (~finite).float()
        self._adamw.step()
        adamw.grad_scale = None
        adamw.found_inf = None
        if self._muon is not None:
            self._muon.step(finite, gradient_scale)

    def tensors(self) -> dict[str, Tensor]:
        """Return moments and counts by `OPTIMIZER.NUMBER.KIND`, for a file of tensors.

        OPTIMIZER is `optimizer` (AdamW), `muon` or `loss_scale`; NUMBER is that of the weight, 0 for the loss scale.
        """
        tensors = {}
        if self._loss_scale is not None:
            for kind, tensor in self._loss_scale.state.items():
                tensors[f"loss_scale.0.{kind}"] = tensor
        for name, optimizer in self._optimizers.items():
            for number, moments in optimizer.state_dict()["state"].items():
                for kind, tensor in moments.items():
                    tensors[f"{name}.{number}.{kind}"] = tensor
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Load the result of `tensors`; learning rate and other settings keep their current values.

        Raises KeyError: `tensors` has an optimizer that this one lacks.
        """
        states: dict[str, dict[int, dict[str, Tensor]]] = {}
        for name in self._optimizers:
            states[name] = defaultdict(dict)
        # Sort the tensors by optimizer and weight.
        for key, tensor in tensors.items():
            name, number, kind = key.split(".", 2)
            if name != "loss_scale":
                states[name][int(number)][kind] = tensor
            elif self._loss_scale is not None:  # a run may change its precision, and need no scale any more
                device = self._loss_scale.state[kind].device
                self._loss_scale.state[kind] = tensor.to(device)
        for name, optimizer in self._optimizers.items():
            settings = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": states[name], "param_groups": settings})

    def _gradient_scale(self, gradient_norm: Tensor, clip: float | None) -> Tensor | None:
        """Return the () divisor of the gradients, from clipping and loss scale; None for 1."""
        gradient_scale = None
        if clip is not None:
            gradient_scale = (gradient_norm / clip).clamp(min=1.0)
        if self._loss_scale is None:
            return gradient_scale
        if gradient_scale is None:
            return self._loss_scale.state["factor"]
        return gradient_scale * self._loss_scale.state["factor"]
