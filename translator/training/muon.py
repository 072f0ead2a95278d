"""Muon (Jordan et al. 2024): the momentum of a matrix is made nearly orthonormal, so that all directions learn."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import torch
from torch import Tensor

from translator.device import bf16_pays

MOMENTUM: Final = 0.95
"""Of the one moment, as Muon's authors have it."""
COEFFICIENTS: Final = (3.4445, -4.7750, 2.0315)
"""Of x, x·xᵀ·x and (x·xᵀ)²·x in an iteration, theirs too: steep at zero, so that five lift small directions."""
ITERATIONS: Final = 5


class Muon(torch.optim.Optimizer):
    """`torch.optim.Muon(nesterov=True, adjust_lr_fn="match_rms_adamw")`, faster, and with an eye for fused projections.

    torch's goes from weight to weight, with fifteen products of small matrices for each: a fifth of a step of a small
    model on a CPU. Here all matrices of one shape are multiplied together.

    A group may have `blocks`: each of its weights holds so many matrices, one below the other, as the projection to
    queries, keys and values does. Each then gets an orthonormal update of its own; as one matrix they would share one,
    and what is large in one of them would leave less to the others.

    Args:
        groups: of matrices; keys: `params`, `lr`, `weight_decay` and, where it is not 1, `blocks`.
    """

    def __init__(self, groups: Iterable[dict[str, Any]]) -> None:
        super().__init__(groups, {"blocks": 1})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # torch's may take a function that computes the loss again
        """Update every weight that has a gradient, once."""
        of_shape = defaultdict(list)
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            if not weights:
                continue
            gradients = [weight.grad for weight in weights]
            for weight in weights:
                if not self.state[weight]:
                    self.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
            moments = [self.state[weight]["momentum_buffer"] for weight in weights]
            torch._foreach_lerp_(moments, gradients, 1.0 - MOMENTUM)
            updates = torch._foreach_lerp(gradients, moments, MOMENTUM)  # Nesterov's: a step ahead of the moment
            torch._foreach_mul_(weights, 1.0 - group["lr"] * group["weight_decay"])
            for whole in zip(weights, updates, strict=True):
                for weight, update in zip(*(tensor.chunk(group["blocks"]) for tensor in whole), strict=True):
                    of_shape[weight.shape].append((weight, update, group["lr"]))
        for shape, matrices in of_shape.items():
            stack = torch.stack([update for _, update, _ in matrices])
            orthonormal = near_orthonormal(stack, torch.bfloat16 if bf16_pays(stack.device) else torch.float32)
            for (weight, _, rate), update in zip(matrices, orthonormal, strict=True):
                weight.add_(update, alpha=-rate * 0.2 * max(shape) ** 0.5)  # as large as an update of AdamW


def near_orthonormal(matrices: Tensor, precision: torch.dtype) -> Tensor:
    """Return matrices with the singular vectors of `matrices`, and singular values around 1.

    Five Newton-Schulz iterations (Jordan et al. 2024), for which bf16 is enough, bring those to between about 0.5 and
    1.5 that are not a thousand times smaller than all together; smaller ones come part of the way, and more iterations
    would not bring the others nearer to 1.

    Args:
        matrices: (N, R, C).
        precision: of the products.

    Returns:
        (N, R, C) in that precision.
    """
    tall = matrices.shape[1] > matrices.shape[2]
    x = (matrices.mT if tall else matrices).to(precision)
    x = x / torch.linalg.matrix_norm(x, keepdim=True).clamp(min=1e-7)  # no singular value is above 1
    first, third, fifth = COEFFICIENTS
    for _ in range(ITERATIONS):
        square = torch.bmm(x, x.mT)
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=third, alpha=fifth), x, beta=first)
    return x.mT if tall else x
