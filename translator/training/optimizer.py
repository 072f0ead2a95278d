"""AdamW (Kingma and Ba 2015; Loshchilov and Hutter 2019) over the weights of a model, and its state as tensors."""

from typing import Any

import torch
from torch import Tensor, nn

from translator.config import TrainingConfig

EPSILON = 1e-9
"""Adam's epsilon, as in Vaswani et al. 2017 §5.3."""


def build_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.AdamW:
    """Return AdamW for `model`: weight decay on matrices, none on biases and norms; the fused kernel."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    betas = (config.beta1, config.beta2)
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=betas, eps=EPSILON, fused=True)


def update(
    optimizer: torch.optim.AdamW, rate: float, gradient_norm: Tensor, finite: Tensor, clip: float | None
) -> None:
    """Update the weights by their gradients, which are gone afterwards.

    The fused kernel divides by a scale and looks at a flag on its way, as mixed precision with a gradient scaler needs;
    clipping (Pascanu et al. 2013) and leaving out an update are told to it in these words, and cost nothing more.

    Args:
        optimizer: from `build_optimizer`.
        rate: learning rate.
        gradient_norm: () L2 norm of the whole gradient.
        finite: () bool; False leaves weights and moments as they are.
        clip: largest norm of a gradient; a longer one is shortened to it.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate
    told: Any = optimizer  # the two attributes that `torch.amp.GradScaler` sets
    told.grad_scale = None if clip is None else (gradient_norm / clip).clamp(min=1.0)
    told.found_inf = (~finite).float()
    optimizer.step()
    told.grad_scale = told.found_inf = None
    optimizer.zero_grad(set_to_none=True)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the moments of every weight, named `optimizer.NUMBER.KIND`, as safetensors can hold them."""
    state: dict[int, dict[str, Any]] = optimizer.state_dict()["state"]
    return {f"optimizer.{number}.{kind}": value for number, entry in state.items() for kind, value in entry.items()}


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` returned; the learning rate and the other settings stay as they are now."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        prefix, _, rest = name.partition(".")
        if prefix == "optimizer":
            number, _, kind = rest.partition(".")
            state.setdefault(int(number), {})[kind] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
