"""Multi-head self-attention and cross-attention (Vaswani et al. 2017 §3.2).

softmax(Q Kᵀ / √K) V is computed by one of two kernels, which agree up to rounding:

    fused   torch's scaled_dot_product_attention, which does not store the weights: for GPUs and long rows
    plain   two products and a softmax, with an explicit gradient: for training on a CPU, and for the steps of a search

On a CPU, forward and backward over rows of 12 to 96 positions, the plain kernel takes 0.1 to 0.3 of the time of the
fused one in bfloat16, and 1.0 to 1.4 in float32 (docs/decisions.md); both precisions use it, so that there is one
kernel for all CPUs.

R rows, T query positions, S key positions, D model width, H heads, K head width
"""

from typing import Any, Final, Literal, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from translator.model.cache import KeyValue, SelfCache
from translator.model.layers import FusedLinear
from translator.model.rotary import rotate

KernelName = Literal["fused", "plain"]


class AttentionKernel(Protocol):
    """A function from query, key, value and mask to context."""

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        dropout: float,
    ) -> Tensor:
        """Return the context (R, H, T, K): for each query, the sum of the values weighted by `attention_weights`.

        Args:
            query: (R, H, T, K).
            key: (R, H, S, K).
            value: (R, H, S, K).
            mask: as in `attention_weights`.
            dropout: probability of dropping an attention weight.
        """


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
) -> Tensor:
    """Return the context by torch's kernel; see `AttentionKernel`."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)


def plain_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
) -> Tensor:
    """Return the context by two products and a softmax; see `AttentionKernel`. The mask may be a float bias."""
    if torch.is_grad_enabled():
        context: Tensor = _PlainAttention.apply(query, key, value, mask, dropout)  # type: ignore[no-untyped-call]
        return context
    return _plain(query, key, value, mask, dropout).context


KERNELS: Final[dict[KernelName, AttentionKernel]] = {"fused": fused_attention, "plain": plain_attention}


def attention_weights(
    query: Tensor,
    key: Tensor,
    mask: Tensor | None,
) -> Tensor:
    """Return softmax(Q Kᵀ / √K) (R, H, T, S) over the allowed keys, zero elsewhere (Vaswani et al. 2017 §3.2.1).

    `mask` is bool, broadcastable to (R, H, T, S), True = may attend; each query may attend to at least one key. Or it
    is a float bias on the scores, broadcastable to (R * H, T, S): 0 = may attend, -inf = may not.
    """
    is_bias = mask is not None and mask.dtype != torch.bool
    scores = _scaled_product(query, key, mask if is_bias else None)
    if mask is not None and not is_bias:
        scores.masked_fill_(~mask, -torch.inf)
    return scores.softmax(dim=-1)


def _scaled_product(
    query: Tensor,
    key: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    """Return Q Kᵀ / √K (R, H, T, S), plus a `bias` broadcastable to (R * H, T, S)."""
    rows, heads, queries, head_width = query.shape
    product = _scaled_bmm(_by_head(query), _by_head(key).transpose(1, 2), head_width**-0.5, bias)
    return product.view(rows, heads, queries, key.size(2))


def _scaled_bmm(
    left: Tensor,
    right: Tensor,
    scale: float,
    bias: Tensor | None = None,
) -> Tensor:
    """Return the batched product `left` · `right` · `scale` plus `bias`, scaled on the way out of the product."""
    if bias is not None:
        return torch.baddbmm(bias, left, right, alpha=scale)
    # With beta 0, `baddbmm` ignores its first argument.
    unused = left.new_empty(1, 1, 1)
    return torch.baddbmm(unused, left, right, beta=0, alpha=scale)


def _by_head(x: Tensor) -> Tensor:
    """Return (R, H, T, K) as (R * H, T, K), for batched products."""
    return x.reshape(-1, *x.shape[2:])


class _PlainResult(NamedTuple):
    """The results of the plain kernel that its gradient needs."""

    context: Tensor  # (R, H, T, K)
    weights: Tensor  # (R, H, T, S) before dropout
    factors: Tensor | None  # (R, H, T, S) of dropout; None without dropout


def _plain(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
) -> _PlainResult:
    weights = attention_weights(query, key, mask)
    factors = None
    dropped = weights
    if dropout > 0.0:
        # 0 for dropped weights; the others grow, so that the mean stays.
        factors = torch.empty_like(weights)
        factors.bernoulli_(1.0 - dropout).div_(1.0 - dropout)
        dropped = weights * factors
    context = torch.bmm(_by_head(dropped), _by_head(value))
    return _PlainResult(
        context=context.view(*query.shape[:3], value.size(3)),
        weights=weights,
        factors=factors,
    )


class _PlainAttention(torch.autograd.Function):
    """Equals torch's kernel up to rounding (tests/model/test_attention.py); read `attention_weights` first.

    With weights P and O = P V: ∂V = Pᵀ ∂O, ∂P = ∂O Vᵀ, ∂scores = P ∘ (∂P - Σ P ∘ ∂P).
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        dropout: float,
    ) -> Tensor:
        query = query.contiguous()
        key = key.contiguous()
        value = value.contiguous()
        # One type for all: autocast would use another one for the softmax, and does not cover the backward pass.
        with torch.autocast(query.device.type, enabled=False):
            result = _plain(query, key, value, mask, dropout)
        ctx.save_for_backward(query, key, value, result.weights, result.factors)
        return result.context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, context_gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        query, key, value, weights, factors = ctx.saved_tensors
        scale = query.size(3) ** -0.5
        gradient = _by_head(context_gradient)  # (R * H, T, K)
        weights = _by_head(weights)  # (R * H, T, S)
        dropped = weights
        if factors is not None:
            dropped = weights * _by_head(factors)

        # 1. ∂V = Pᵀ ∂O.
        value_gradient = torch.bmm(dropped.transpose(1, 2), gradient)  # (R * H, S, K)

        # 2. P ∘ ∂P, and from it the gradient of the scores, in place.
        score_gradient = torch.bmm(gradient, _by_head(value).transpose(1, 2))  # (R * H, T, S)
        score_gradient.mul_(dropped)
        sums = score_gradient.sum(dim=-1, keepdim=True)
        score_gradient.addcmul_(weights, sums, value=-1)

        # 3. The scores are Q Kᵀ / √K.
        query_gradient = _scaled_bmm(score_gradient, _by_head(key), scale)
        key_gradient = _scaled_bmm(score_gradient.transpose(1, 2), _by_head(query), scale)
        return (
            query_gradient.view_as(query),
            key_gradient.view_as(key),
            value_gradient.view_as(value),
            None,
            None,
        )


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Return `x` (R, L, D) as (R, H, L, K); head h has columns h * K to (h + 1) * K."""
    rows, length, width = x.shape
    return x.view(rows, length, heads, width // heads).transpose(1, 2)


def merge_heads(context: Tensor) -> Tensor:
    """Return `context` (R, H, L, K) as (R, L, D)."""
    return context.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    """The base of self-attention and cross-attention: number of heads, kernel, dropout on the weights."""

    def __init__(self, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.kernel: AttentionKernel = fused_attention  # `Transformer.use_attention` chooses it

    @property
    def active_dropout(self) -> float:
        """The dropout on the attention weights: 0 outside training."""
        return self.dropout if self.training else 0.0


class SelfAttention(MultiHeadAttention):
    """Self-attention with one fused projection."""

    def __init__(
        self,
        d_model: int,
        heads: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(heads, dropout)
        self.query_key_value = FusedLinear(d_model, d_model, blocks=3)
        self.output = nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        rotation: Tensor | None = None,
        cache: SelfCache | None = None,
    ) -> Tensor:
        """Return (R, L, D): every position of `x` attends to the allowed positions of `x`.

        Args:
            x: (R, L, D). With a cache: (n, w, D), the newest position of each hypothesis.
            mask: see `attention_weights`; None allows all positions.
            rotation: (R, 1, L, K/2, 2), of `RotaryPositions`; None if the embeddings encode positions.
            cache: keys and values of earlier positions; those of `x` are appended.
        """
        query, key, value = self.project(x, rotation)
        if cache is None:
            context = self.kernel(query, key, value, mask, self.active_dropout)
        else:
            all_keys, all_values = cache.append(KeyValue(key, value))
            context = plain_attention(query, all_keys, all_values, mask, 0.0)
        y: Tensor = self.output(merge_heads(context))
        return y

    def project(self, x: Tensor, rotation: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return query, key and value, (R, H, L, K) each, of `x` (R, L, D)."""
        projected = split_heads(self.query_key_value(x), 3 * self.heads)  # (R, 3H, L, K)
        query, key, value = projected.chunk(3, dim=1)
        if rotation is not None:
            query = rotate(query, rotation)
            key = rotate(key, rotation)
        return query, key, value

    def weights(
        self,
        x: Tensor,
        mask: Tensor | None,
        rotation: Tensor | None = None,
    ) -> Tensor:
        """Return the attention weights (R, H, L, L) of `forward`, without dropout."""
        query, key, _ = self.project(x, rotation)
        return attention_weights(query, key, mask)


class CrossAttention(MultiHeadAttention):
    """Cross-attention: queries from the target, keys and values from the encoder's output."""

    def __init__(
        self,
        d_model: int,
        heads: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(heads, dropout)
        self.query = nn.Linear(d_model, d_model)
        self.key_value = FusedLinear(d_model, d_model, blocks=2)
        self.output = nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | KeyValue,
        mask: Tensor | None,
    ) -> Tensor:
        """Return (R, T, D): each position of `x` (R, T, D) attends to the allowed positions of `memory`.

        `memory` is the encoder's output (R, S, D). In a search it is its keys and values, which are computed once.
        """
        query = split_heads(self.query(x), self.heads)
        if isinstance(memory, KeyValue):
            context = plain_attention(query, memory.key, memory.value, mask, 0.0)
        else:
            key, value = self.project(memory)
            context = self.kernel(query, key, value, mask, self.active_dropout)
        y: Tensor = self.output(merge_heads(context))
        return y

    def project(self, memory: Tensor) -> KeyValue:
        """Return keys and values, (R, H, S, K) each, of `memory` (R, S, D)."""
        projected = split_heads(self.key_value(memory), 2 * self.heads)  # (R, 2H, S, K)
        key, value = projected.chunk(2, dim=1)
        return KeyValue(key, value)

    def weights(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
    ) -> Tensor:
        """Return the attention weights (R, H, T, S) of `forward`, without dropout."""
        query = split_heads(self.query(x), self.heads)
        return attention_weights(query, self.project(memory).key, mask)
