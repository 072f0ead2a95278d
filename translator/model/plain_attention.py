"""Attention as three products and a softmax, with a gradient written out: what a CPU does fastest on short sentences.

torch's fused kernel never writes the (T, S) weights down, which pays when they are large. For sentences of a few dozen
tokens they are small, and on a CPU that kernel then takes several times as long, most of all in bfloat16
(docs/decisions.md has the figures). Here the weights are kept for the backward pass, which needs five products and
no second softmax.

B batch, T query length, S key length, H heads, K head width
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def plain_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float = 0.0) -> Tensor:
    """Return softmax(Q Kᵀ / √K) V, as `torch.nn.functional.scaled_dot_product_attention` does.

    Args:
        query: (B, H, T, K), of one type with key and value.
        key: (B, H, S, K).
        value: (B, H, S, K).
        mask: bool, broadcastable to (B, H, T, S), True = may attend; a row without any True gives zeros.
        dropout: probability that a weight is dropped; the others are scaled up.

    Returns:
        (B, H, T, K).
    """
    context: Tensor = _PlainAttention.apply(query, key, value, mask, dropout)  # type: ignore[no-untyped-call]
    return context


class _PlainAttention(torch.autograd.Function):
    """With P the weights, D the dropped ones and O = D V: the gradient of a softmax is P ∘ (∂P - rowsum(P ∘ ∂P))."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
        # One type for all, also where autocast would take another one for the softmax: the backward pass is outside it.
        with torch.autocast(query.device.type, enabled=False):
            return _PlainAttention._forward(ctx, query, key, value, mask, dropout)

    @staticmethod
    def _forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
        rows, heads, length, width = query.shape
        q, k, v = (x.reshape(rows * heads, *x.shape[2:]) for x in (query, key, value))
        scores = torch.baddbmm(q.new_empty(1, 1, 1), q, k.transpose(1, 2), beta=0, alpha=width**-0.5)  # (B·H, T, S)
        blocked = None if mask is None else ~mask
        if blocked is not None:
            scores.view(rows, heads, length, -1).masked_fill_(blocked, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1)
        if blocked is not None and (blocked.is_cuda or bool(blocked.all(dim=-1).any())):  # asking would wait for a GPU
            weights.view(rows, heads, length, -1).masked_fill_(blocked, 0.0)  # else a row of nothing would be uniform
        noise = None
        if dropout:
            noise = torch.empty_like(weights).bernoulli_(1.0 - dropout).div_(1.0 - dropout)
        context = torch.bmm(weights if noise is None else weights * noise, v)  # (B·H, T, K)
        ctx.save_for_backward(q, k, v, weights, *(() if noise is None else (noise,)))
        return context.view(rows, heads, *context.shape[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, weights, *noise = ctx.saved_tensors
        rows, heads, width = *gradient.shape[:2], q.size(2)
        gradient = gradient.reshape(rows * heads, *gradient.shape[2:])
        dropped = weights * noise[0] if noise else weights
        value = torch.bmm(dropped.transpose(1, 2), gradient)  # (B·H, S, K)
        of_weights = torch.bmm(gradient, v.transpose(1, 2))  # (B·H, T, S)
        if noise:
            of_weights.mul_(noise[0])
        of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        scale = width**-0.5
        query = torch.baddbmm(q.new_empty(1, 1, 1), of_scores, k, beta=0, alpha=scale)  # (B·H, T, K)
        key = torch.baddbmm(k.new_empty(1, 1, 1), of_scores.transpose(1, 2), q, beta=0, alpha=scale)  # (B·H, S, K)
        return (
            query.view(rows, heads, -1, width),
            key.view(rows, heads, -1, width),
            value.view(rows, heads, *value.shape[1:]),
            None,
            None,
        )
