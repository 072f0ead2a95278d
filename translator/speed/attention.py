"""Attention with an explicit gradient, for training on a CPU; equals `attention` of `core/attention.py` (read that).

On a CPU, forward and backward over rows of 12 to 96 positions take 0.1 to 0.3 of the time of torch's kernel in
bfloat16, and 1.0 to 1.4 in float32 (docs/decisions.md); both precisions use it, so that there is one kernel for all
CPUs.

R rows, T query positions, S key positions, H heads, K head width
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from translator.core.attention import attend, attention_weights, by_head, scaled_bmm


def plain_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
) -> Tensor:
    """Return the context (R, H, T, K) by two products and a softmax; the mask may be a float bias."""
    if not torch.is_grad_enabled():
        assert dropout == 0.0, "dropout without a gradient"
        return attend(query, key, value, mask)
    context: Tensor = _PlainAttention.apply(query, key, value, mask, dropout)  # type: ignore[no-untyped-call]
    return context


class _PlainAttention(torch.autograd.Function):
    """With weights P and O = P V: ∂V = Pᵀ ∂O, ∂P = ∂O Vᵀ, ∂scores = P ∘ (∂P - Σ P ∘ ∂P)."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        dropout: float,
    ) -> Tensor:
        """Return the context (R, H, T, K), and save what `backward` needs; arguments as of `plain_attention`."""
        query = query.contiguous()
        key = key.contiguous()
        value = value.contiguous()
        # Without autocast, so that all tensors have one type: autocast would change the type of the softmax, and does
        # not cover the backward pass.
        with torch.autocast(query.device.type, enabled=False):
            weights = attention_weights(query, key, mask)  # (R, H, T, S)
            weights_after_dropout = weights
            factors = None
            if dropout > 0.0:
                # Dropped weights get the factor 0; the others grow by 1 / (1 - dropout), so that the mean stays.
                factors = torch.empty_like(weights)
                factors.bernoulli_(1.0 - dropout).div_(1.0 - dropout)
                weights_after_dropout = weights * factors
            context = torch.bmm(by_head(weights_after_dropout), by_head(value))  # (R * H, T, K)
        ctx.save_for_backward(query, key, value, weights, factors)
        return context.view(*query.shape[:3], value.size(3))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, context_gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        """Return the gradients of query, key and value, shaped like each; mask and dropout have none."""
        query, key, value, weights, factors = ctx.saved_tensors
        scale = query.size(3) ** -0.5
        gradient = by_head(context_gradient)  # (R * H, T, K)
        weights = by_head(weights)  # (R * H, T, S)
        weights_after_dropout = weights
        if factors is not None:
            weights_after_dropout = weights * by_head(factors)

        # 1. ∂V = P'ᵀ ∂O, with the weights P' after dropout.
        value_gradient = torch.bmm(weights_after_dropout.transpose(1, 2), gradient)  # (R * H, S, K)

        # 2. The gradient of the softmax: ∂scores = P ∘ ∂P - P Σ (P ∘ ∂P), with the weights P before dropout. Dropout
        # multiplies P and ∂P' by the same factors, so P ∘ ∂P = P' ∘ ∂P'. One tensor holds first ∂P', then the product,
        # and in the end ∂scores.
        score_gradient = torch.bmm(gradient, by_head(value).transpose(1, 2))  # (R * H, T, S)
        score_gradient.mul_(weights_after_dropout)
        sums = score_gradient.sum(dim=-1, keepdim=True)  # (R * H, T, 1)
        score_gradient.addcmul_(weights, sums, value=-1)

        # 3. The scores are Q Kᵀ · scale, so ∂Q = ∂scores K · scale, and ∂K = ∂scoresᵀ Q · scale.
        query_gradient = scaled_bmm(score_gradient, by_head(key), scale)
        key_gradient = scaled_bmm(score_gradient.transpose(1, 2), by_head(query), scale)
        return (
            query_gradient.view_as(query),
            key_gradient.view_as(key),
            value_gradient.view_as(value),
            None,
            None,
        )
