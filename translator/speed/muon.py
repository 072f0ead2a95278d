"""Muon (Jordan et al. 2024): momentum whose directions are all learned at a similar rate; for matrices of layers.

N matrices of one shape, R rows, C columns
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn

from translator.core.attention import FusedLinear
from translator.speed.device import bf16_pays

MOMENTUM: Final = 0.95  # as in Jordan et al. 2024
ITERATIONS: Final = 3  # of Newton-Schulz
COEFFICIENTS: Final = (3.4445, -4.7750, 2.0315)  # of x, x·xᵀ·x and (x·xᵀ)²·x, as in Jordan et al. 2024
UPDATE_RMS: Final = 0.2  # root mean square of an AdamW update, in learning rates (Liu et al. 2025)


class MatrixUpdate(NamedTuple):
    """A matrix that waits for its update."""

    matrix: Tensor  # (R, C) part of a weight
    direction: Tensor  # (R, C) to be orthonormalized
    learning_rate: float


class Muon(torch.optim.Optimizer):
    """Muon as `torch.optim.Muon(adjust_lr_fn="match_rms_adamw", ns_steps=3)`, batched, for fused projections too.

    The momentum of the gradient is orthonormalized approximately, so that all directions are learned at a similar rate.
    All matrices of one shape are multiplied in one batch, which is faster for small models than torch's loop.

    A group has `params` and optionally `blocks`, the number of matrices stacked in each of its weights, as in the
    projection to queries, keys and values. Each matrix is orthonormalized separately.

    As in torch's fused optimizers, attributes change the next step, which reads no number from the GPU.
    """

    found_inf: Tensor | None = None
    """() float: 1 leaves weights and momentum unchanged, whatever the gradients are; None is like 0."""
    grad_scale: Tensor | None = None
    """() divisor of the gradients, which are divided in place; None is like 1."""

    def __init__(self, groups: Iterable[dict[str, Any]], weight_decay: float) -> None:
        super().__init__(groups, {"blocks": 1, "lr": 0.0, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every weight that has a gradient, without GPU synchronization; torch's interface has the `closure`."""
        found_inf = self.found_inf
        if found_inf is None:
            found_inf = torch.zeros((), device=self.param_groups[0]["params"][0].device)
        finite = found_inf == 0  # () bool

        # 1. Advance the momentum of each weight, decay the weight, and collect its matrices for step 2.
        updates_by_shape: dict[torch.Size, list[MatrixUpdate]] = defaultdict(list)
        for group in self.param_groups:
            # The factor of weight decay: 1 in a skipped update.
            decay = torch.full((), 1.0 - group["lr"] * group["weight_decay"], device=finite.device)
            decay.masked_fill_(~finite, 1.0)
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                if self.grad_scale is not None:
                    weight.grad.div_(self.grad_scale)
                direction = self._advance_momentum(weight, finite)
                weight.mul_(decay)
                # Cut the weight into its matrices, and collect matrices of the same shape.
                matrices = weight.chunk(group["blocks"])
                directions = direction.chunk(group["blocks"])
                for matrix, matrix_direction in zip(matrices, directions, strict=True):
                    update = MatrixUpdate(matrix, matrix_direction, group["lr"])
                    updates_by_shape[matrix.shape].append(update)

        # 2. Update all matrices of a shape at once.
        for updates in updates_by_shape.values():
            _apply_updates(updates, finite)

    def _advance_momentum(self, weight: nn.Parameter, finite: Tensor) -> Tensor:
        """Move the momentum towards the gradient if `finite`; return Nesterov's look-ahead, which is always finite."""
        assert weight.grad is not None
        if not self.state[weight]:
            self.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
        momentum = self.state[weight]["momentum_buffer"]
        # A skipped update sees the momentum as its gradient, so the momentum stays. A product with zero would keep NaN.
        gradient = torch.where(finite, weight.grad, momentum)
        momentum.lerp_(gradient, 1.0 - MOMENTUM)
        return torch.lerp(gradient, momentum, MOMENTUM)


def muon_of(model: nn.Module, weight_decay: float) -> Muon:
    """Return the optimizer of the matrices of encoder and decoder layers; the rest stays with AdamW.

    Muon and AdamW share a learning rate: Muon's update is scaled to the size of AdamW's (Liu et al. 2025, "Muon is
    scalable for LLM training").
    """
    # The number of matrices that are stacked in a weight: 1, except in fused projections.
    blocks_by_weight: dict[Tensor, int] = {}
    for module in model.modules():
        if isinstance(module, FusedLinear):
            blocks_by_weight[module.weight] = module.blocks

    # A parameter group for each number of matrices.
    weights_by_blocks: dict[int, list[nn.Parameter]] = {}
    for name, weight in model.named_parameters():
        if weight.dim() >= 2 and name.startswith(("encoder.", "decoder.")):
            blocks = blocks_by_weight.get(weight, 1)
            weights_by_blocks.setdefault(blocks, []).append(weight)
    groups = [{"params": weights, "blocks": blocks} for blocks, weights in weights_by_blocks.items()]
    return Muon(groups, weight_decay)


def _apply_updates(updates: list[MatrixUpdate], finite: Tensor) -> None:
    """Move matrices of one shape against their orthonormalized directions, by zero if not `finite`."""
    stack = torch.stack([update.direction for update in updates])  # (N, R, C)
    precision = torch.bfloat16 if bf16_pays(stack.device) else torch.float32
    orthonormal = near_orthonormal(stack, precision).mul_(finite)
    # The root mean square of an orthonormal matrix is 1 / √max(R, C).
    longest_side = max(stack.shape[1:])
    for update, matrix_update in zip(updates, orthonormal, strict=True):
        step_size = update.learning_rate * UPDATE_RMS * longest_side**0.5
        update.matrix.add_(matrix_update, alpha=-step_size)


def near_orthonormal(matrices: Tensor, precision: torch.dtype) -> Tensor:
    """Return `matrices` (N, R, C) with their singular values near 1, computed in `precision`.

    Three Newton-Schulz iterations (Jordan et al. 2024), for which bf16 suffices, bring singular values above 1/80 of
    the Frobenius norm to between about 0.5 and 1.2. Five iterations, as in that work, do so for values above 1/1000;
    they take longer and do not lower our validation loss.
    """
    # Transpose tall matrices, since each iteration computes x·xᵀ, which is smaller if x is wide.
    is_tall = matrices.shape[1] > matrices.shape[2]
    x = (matrices.mT if is_tall else matrices).to(precision)
    # Divide by the Frobenius norm, so that no singular value is above 1.
    norms = torch.linalg.matrix_norm(x, keepdim=True)
    x = x / norms.clamp(min=1e-7)
    # Each iteration is x ← first · x + (third · x·xᵀ + fifth · (x·xᵀ)²) · x.
    first, third, fifth = COEFFICIENTS
    for _ in range(ITERATIONS):
        square = torch.bmm(x, x.mT)  # (N, the shorter side, the shorter side)
        factor = torch.baddbmm(square, square, square, beta=third, alpha=fifth)
        x = torch.baddbmm(x, factor, x, beta=first)
    return x.mT if is_tall else x
