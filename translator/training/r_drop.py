"""R-Drop: two passes over one batch, with other dropout, are to agree (Liang et al. 2021 §2).

The paper minimises, for each target token with the distributions p and q of the two passes,

    -log p(label) - log q(label) + α · D(p, q),   D(p, q) = ½ · (KL(p‖q) + KL(q‖p)).      (its equations 1 to 3)

Training here minimises half of that, with label smoothing in the two cross-entropies:

    ½ · (CE(p) + CE(q) + α · D(p, q)),

so that α means what it means in the paper, and α = 0 is the mean of two plain passes: a loss, and a gradient before
clipping, of the usual size. Both passes receive gradient.

N tokens, V vocabulary
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def symmetric_divergence(logits: Tensor) -> Tensor:
    """Return the sum of D(p, q) over all tokens, in nats: 0 if both passes agree, and never negative.

    The gradient is computed in the forward pass: it takes the memory of two float32 copies of the logits while it is
    computed, and that of the logits themselves until backward.

    Args:
        logits: (2N, V) of any floating type; rows N to 2N are those of the second pass, for the same tokens in the
            same order. Computed in float32 (in float64 if they are).

    Returns:
        () in the type that it is computed in.
    """
    assert logits.dim() == 2 and logits.size(0) % 2 == 0, "logits of two passes, (2N, V)"
    divergence: Tensor = _SymmetricDivergence.apply(logits)  # type: ignore[no-untyped-call]
    return divergence


class _SymmetricDivergence(torch.autograd.Function):
    """D and its gradient for the logits x of p and y of q.

    With d = log p - log q (over the vocabulary), KL(p‖q) = Σ p d and KL(q‖p) = -Σ q d, hence D = ½ Σ (p - q) d.
    A softmax has ∂p_v / ∂x_j = p_v ([v = j] - p_j), a log-softmax ∂ log p_v / ∂x_j = [v = j] - p_j, so that

        ∂KL(p‖q) / ∂x_j = p_j (d_j - KL(p‖q))        ∂KL(q‖p) / ∂x_j = p_j - q_j
        ∂D / ∂x = ½ (p (d - KL(p‖q)) + p - q)        ∂D / ∂y = ½ (q (-d - KL(q‖p)) + q - p)
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> Tensor:
        exact = torch.promote_types(logits.dtype, torch.float32)
        both = torch.log_softmax(logits, dim=-1, dtype=exact)  # (2N, V), the first buffer
        first, second = both[: len(both) // 2], both[len(both) // 2 :]  # (N, V) p and q, views
        log_ratio = first - second  # (N, V) d; with `scratch`, the second buffer
        both.exp_()
        scratch = first - second  # (N, V)
        total = scratch.mul_(log_ratio).sum(dim=1, keepdim=True)  # (N, 1) both divergences; no term of it is negative
        if ctx.needs_input_grad[0]:
            forwards = torch.mul(first, log_ratio, out=scratch).sum(dim=1, keepdim=True)  # (N, 1) KL(p‖q)
            torch.sub(first, second, out=scratch)
            first.mul_(log_ratio.sub_(forwards)).add_(scratch)
            second.mul_(log_ratio.add_(total).neg_()).sub_(scratch)  # -d - KL(q‖p) = -(d - KL(p‖q) + total)
            del log_ratio, scratch
            ctx.save_for_backward(both.mul_(0.5).to(logits.dtype))
        return total.sum() * 0.5

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, divergence_gradient: Tensor) -> Tensor:
        gradient: Tensor = ctx.saved_tensors[0]
        return gradient * divergence_gradient.to(gradient.dtype)
