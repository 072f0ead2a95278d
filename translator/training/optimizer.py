"""AdamW (Kingma and Ba 2015; Loshchilov and Hutter 2019) over a model's weights, or Muon (Jordan et al. 2024)."""

from collections import defaultdict
from typing import Any, Final

import torch
from torch import Tensor, nn

from translator.config import TrainingConfig
from translator.model.fused_linear import FusedLinear
from translator.training.muon import Muon

EPSILON: Final = 1e-9
"""Adam's epsilon, as in Vaswani et al. 2017 §5.3."""


class ModelOptimizer:
    """Updates the weights of a model, and holds what that needs from one step to the next.

    AdamW updates all weights. With `optimizer: muon` it updates embeddings, output head, biases and norms, and Muon the
    matrices of the blocks: their averaged gradient is replaced by a matrix of nearly orthonormal rows or columns, so
    that no direction is learned much later than another. That is scaled to be as large as an update of AdamW is (Liu
    et al. 2025, "Muon is scalable for LLM training"), hence the learning rate means the same in both.

    Args:
        model: all its weights that have gradients are updated.
        config: which optimizer, and its settings.
    """

    def __init__(self, model: nn.Module, config: TrainingConfig) -> None:
        named = [(name, weight) for name, weight in model.named_parameters() if weight.requires_grad]
        fused = {module.weight: module.blocks for module in model.modules() if isinstance(module, FusedLinear)}
        rest, of_muon = [], defaultdict(list)
        for name, weight in named:
            if config.optimizer == "muon" and _is_block_matrix(name, weight):
                of_muon[fused.get(weight, 1)].append(weight)
            else:
                rest.append(weight)
        groups = [
            {"params": [weight for weight in rest if weight.dim() >= 2], "weight_decay": config.weight_decay},
            {"params": [weight for weight in rest if weight.dim() < 2], "weight_decay": 0.0},
        ]
        betas = (config.beta1, config.beta2)
        self._adamw = torch.optim.AdamW(groups, lr=config.learning_rate, betas=betas, eps=EPSILON, fused=True)
        self._parts: dict[str, torch.optim.Optimizer] = {"optimizer": self._adamw}
        if of_muon:
            shared = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
            self._parts["muon"] = Muon(
                {"params": weights, "blocks": blocks, **shared} for blocks, weights in of_muon.items()
            )

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The weights with their settings, as torch's optimizers group them."""
        return [group for part in self._parts.values() for group in part.param_groups]

    @property
    def gradients(self) -> list[Tensor]:
        """The gradients of all weights that have one."""
        return [weight.grad for group in self.groups for weight in group["params"] if weight.grad is not None]

    @property
    def used(self) -> bool:
        """Whether there was an update, so that the moments lie in memory."""
        return bool(self._adamw.state)

    def update(self, rate: float, gradient_norm: Tensor, finite: Tensor, clip: float | None) -> None:
        """Update the weights by their gradients, which are gone afterwards.

        AdamW's fused kernel divides by a scale and looks at a flag on its way, as mixed precision with a gradient
        scaler needs; clipping (Pascanu et al. 2013) and leaving out an update use these two, and cost nothing
        more. Muon has no such kernel: it waits for the device to say whether all is finite.

        Args:
            rate: learning rate.
            gradient_norm: () L2 norm of the whole gradient.
            finite: () bool; False leaves weights and moments as they are.
            clip: largest norm of a gradient; a longer one is shortened to it.
        """
        for group in self.groups:
            group["lr"] = rate
        scale = None if clip is None else (gradient_norm / clip).clamp(min=1.0)
        told: Any = self._adamw  # the two attributes that `torch.amp.GradScaler` sets
        told.grad_scale = scale
        told.found_inf = (~finite).float()
        self._adamw.step()
        told.grad_scale = told.found_inf = None
        if "muon" in self._parts and finite:
            muon = self._parts["muon"]
            if scale is not None:
                weights = [weight for group in muon.param_groups for weight in group["params"]]
                torch._foreach_div_([weight.grad for weight in weights if weight.grad is not None], scale)
            muon.step()
        for part in self._parts.values():
            part.zero_grad(set_to_none=True)

    def tensors(self) -> dict[str, Tensor]:
        """Return the moments of every weight, and how often AdamW has updated it, for safetensors.

        They are named `optimizer.NUMBER.KIND` and `muon.NUMBER.KIND`.
        """
        return {
            f"{name}.{number}.{kind}": value
            for name, part in self._parts.items()
            for number, entry in part.state_dict()["state"].items()
            for kind, value in entry.items()
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Put back what `tensors` returned; the learning rate and the other settings stay as they are now."""
        for name, part in self._parts.items():
            state: dict[int, dict[str, Tensor]] = {}
            for key, tensor in tensors.items():
                of, _, rest = key.partition(".")
                if of == name:
                    number, _, kind = rest.partition(".")
                    state.setdefault(int(number), {})[kind] = tensor
            part.load_state_dict({"state": state, "param_groups": part.state_dict()["param_groups"]})


def _is_block_matrix(name: str, weight: Tensor) -> bool:
    """Return whether a weight is a matrix of an encoder or decoder block: no embedding, output head, bias or norm."""
    return name.startswith(("encoder.", "decoder.")) and weight.dim() == 2
