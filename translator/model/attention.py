"""Multi-head self-attention and cross-attention (Vaswani et al. 2017 §3.2).

softmax(Q Kᵀ / √K) V is computed by one of two kernels, which agree up to rounding:

    fused   torch's scaled_dot_product_attention, which does not store the (T, S) weights: for long sentences and GPUs
    plain   two products and a softmax, with an explicit gradient: for short sentences in training on a CPU, for the
            steps of a search, and if the weights themselves are requested

On a CPU, forward and backward over sentences of 12 to 96 tokens, the plain kernel takes 0.1 to 0.3 of the time of the
fused one in bfloat16, and 1.0 to 1.4 in float32 (docs/decisions.md).

B batch, T query length, S key length, D model width, H heads, K head width
In a search step: n of the B sentences are unfinished; T is w, the rows of a sentence: 1 at the first step, then W
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from translator.model.embedding import RotaryPositions
from translator.model.layers import PADDED, FusedLinear, Layout

AttentionKernel = Literal["fused", "plain"]
LARGEST_PLAIN: Final = 256 * 256
"""Limit of T · S, above which the plain kernel's weights need too much memory and the fused kernel is used instead."""
FIRST_CAPACITY: Final = 32  # initial capacity of a cache in positions; a full cache doubles it


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float = 0.0,
    weights: list[Tensor] | None = None,
    kernel: AttentionKernel = "fused",
) -> Tensor:
    """Return the context (B, H, T, K): for each query, values (B, H, S, K) averaged with `attention_weights`.

    The fused kernel accepts only bool masks. The plain kernel appends weights (B, H, T, S) before dropout to `weights`.
    """
    if kernel == "fused" and weights is None:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
    if torch.is_grad_enabled():
        context, probabilities = _PlainAttention.apply(query, key, value, mask, dropout)  # type: ignore[no-untyped-call]
    else:
        context, probabilities, _ = _plain(query, key, value, mask, dropout)
    if weights is not None:
        weights.append(probabilities)
    y: Tensor = context
    return y


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """Return softmax(Q Kᵀ / √K) (B, H, T, S) over the allowed keys, zero elsewhere (Vaswani et al. 2017 §3.2.1).

    `mask` is bool, broadcastable to (B, H, T, S), True = may attend; a row without any True gives zeros. Or it is a
    float bias on the scores, broadcastable to (B * H, T, S): 0 = may attend, -inf = may not.
    """
    shape, scale = (*query.shape[:3], key.size(2)), query.size(3) ** -0.5
    query, key = _flat(query), _flat(key).transpose(1, 2)
    if mask is not None and mask.dtype != torch.bool:
        return torch.baddbmm(mask, query, key, alpha=scale).softmax(dim=-1).view(shape)
    scores = torch.baddbmm(query.new_empty(1, 1, 1), query, key, beta=0, alpha=scale).view(shape)
    if mask is None:
        return scores.softmax(dim=-1)
    # The lowest finite number, not -inf: a row without an allowed score becomes uniform instead of NaN.
    blocked = ~mask
    weights = scores.masked_fill(blocked, torch.finfo(scores.dtype).min).softmax(dim=-1)
    if blocked.is_cuda or bool(blocked.all(dim=-1).any()):  # the check would synchronize a GPU
        weights = weights.masked_fill(blocked, 0.0)
    return weights


def _flat(x: Tensor) -> Tensor:
    """Return (B, H, T, K) as (B * H, T, K), for batched products."""
    return x.reshape(-1, *x.shape[2:])


def _plain(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return context (B, H, T, K), weights (B, H, T, S), and the dropout factors applied to them."""
    weights = attention_weights(query, key, mask)
    kept = torch.empty_like(weights).bernoulli_(1.0 - dropout).div_(1.0 - dropout) if dropout else None
    dropped = weights if kept is None else weights * kept
    context = torch.bmm(_flat(dropped), _flat(value)).view(*query.shape[:3], value.size(3))
    return context, weights, kept


class _PlainAttention(torch.autograd.Function):
    """Plain attention. With weights P and O = P V: ∂V = Pᵀ ∂O, ∂P = ∂O Vᵀ, ∂scores = P ∘ (∂P - Σ P ∘ ∂P)."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float
    ) -> tuple[Tensor, Tensor]:
        query, key, value = query.contiguous(), key.contiguous(), value.contiguous()
        # One type for all: autocast would use another one for the softmax, and does not cover the backward pass.
        with torch.autocast(query.device.type, enabled=False):
            context, weights, kept = _plain(query, key, value, mask, dropout)
        ctx.save_for_backward(query, key, value, weights, kept)
        ctx.mark_non_differentiable(weights)
        return context, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        *tensors, kept = ctx.saved_tensors
        query, key, value, weights = map(_flat, tensors)
        shapes, scale, gradient = [x.shape for x in tensors[:3]], query.size(2) ** -0.5, _flat(gradient)
        dropped = weights if kept is None else weights * _flat(kept)
        of_value = torch.bmm(dropped.transpose(1, 2), gradient)  # (B * H, S, K)
        of_scores = torch.bmm(gradient, value.transpose(1, 2)).mul_(dropped)  # (B * H, T, S): P ∘ ∂P
        of_scores.addcmul_(weights, of_scores.sum(dim=-1, keepdim=True), value=-1)
        nothing = query.new_empty(1, 1, 1)
        of_query = torch.baddbmm(nothing, of_scores, key, beta=0, alpha=scale)  # (B * H, T, K)
        of_key = torch.baddbmm(nothing, of_scores.transpose(1, 2), query, beta=0, alpha=scale)  # (B * H, S, K)
        by_head = (x.view(shape) for x, shape in zip((of_query, of_key, of_value), shapes, strict=True))
        return *by_head, None, None  # type: ignore[return-value]


class SelfCache:
    """Keys and values of the previous target positions of a decoder layer, for all W rows of each sentence."""

    def __init__(self, width: int) -> None:
        self.width = width  # W
        self.length = 0
        self._buffer: Tensor | None = None  # (C, W, 2, B, H, K) for C positions: a step writes contiguously
        self._positions: tuple[Tensor, ...] = ()  # C views (B, 2, H, W, K)
        self._all: tuple[Tensor, Tensor]  # views of all keys and all values, (B, H, C * W, K) each

    def append(self, key_value: Tensor) -> tuple[Tensor, Tensor]:
        """Append one position (n, 2H, w, K), and return all keys and values, (n, H, length * W, K) each."""
        if self.length == len(self._positions):
            self._grow(key_value)
        count, heads, _, head_width = key_value.shape
        # If w is 1, the entry is written for all W rows.
        self._positions[self.length][:count] = key_value.view(count, 2, heads // 2, -1, head_width)
        self.length += 1
        keys, values = self._all
        return keys[:count, :, : self.length * self.width], values[:count, :, : self.length * self.width]

    def move(self, old: Tensor, new: Tensor) -> None:
        """Move the sentences in the places `old` to the places `new`, (sentences,) int64 each."""
        if self._buffer is not None:
            used = self._buffer[: self.length]
            used[:, :, :, new] = used[:, :, :, old]

    def _grow(self, like: Tensor) -> None:
        """Increase the capacity for positions of the shape and type of `like` (n, 2H, w, K)."""
        if self._buffer is None:
            count, heads, _, head_width = like.shape
            buffer = like.new_empty(FIRST_CAPACITY, self.width, 2, count, heads // 2, head_width)
        else:
            buffer = self._buffer.new_empty(2 * self.length, *self._buffer.shape[1:])
            buffer[: self.length] = self._buffer
        self._buffer = buffer
        self._positions = buffer.permute(0, 3, 2, 4, 1, 5).unbind(0)
        keys, values = buffer.flatten(0, 1).permute(1, 2, 3, 0, 4).unbind(0)
        self._all = keys, values


@dataclass(frozen=True)
class CrossCache:
    """Keys and values of the encoder's output for one decoder layer, (B, H, S, K) each, computed once."""

    key: Tensor  # stored transposed, as (B, H, K, S), which more than halves the time of its product with few queries
    value: Tensor

    @classmethod
    def of(cls, key: Tensor, value: Tensor) -> "CrossCache":
        """Return the cache of keys and values in the layout for search."""
        return cls(key.transpose(2, 3).contiguous().transpose(2, 3), value.contiguous())

    def move(self, old: Tensor, new: Tensor) -> None:
        """Move the sentences in the places `old` to the places `new`, (sentences,) int64 each."""
        self.key[new], self.value[new] = self.key[old], self.value[old]


class MultiHeadAttention(nn.Module):
    """Base of self-attention and cross-attention: heads, dropout on the attention weights, and the kernel."""

    output: nn.Linear

    def __init__(self, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.kernel: AttentionKernel = "fused"  # in training; the steps of a search use the plain one

    def answer(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        weights: list[Tensor] | None = None,
        layout: Layout = PADDED,
        kernel: AttentionKernel | None = None,
    ) -> Tensor:
        """Return the projected context (B, T, D) of query (B, H, T, K) over key and value (B, H, S, K)."""
        if kernel is None:
            kernel = self.kernel if query.size(2) * key.size(2) <= LARGEST_PLAIN else "fused"
        context = attend(query, key, value, mask, self.dropout if self.training else 0.0, weights, kernel)
        y: Tensor = self.output(layout.merge_heads(context))
        return y


class SelfAttention(MultiHeadAttention):
    """Self-attention with one fused projection; `rotary` is None if the embeddings encode positions."""

    def __init__(self, d_model: int, heads: int, dropout: float = 0.0, rotary: RotaryPositions | None = None) -> None:
        super().__init__(heads, dropout)
        self.rotary = rotary
        self.query_key_value = FusedLinear(d_model, d_model, blocks=3)
        self.output = nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        weights: list[Tensor] | None = None,
        layout: Layout = PADDED,
        cache: SelfCache | None = None,
    ) -> Tensor:
        """Return (B, T, D): every position of `x` attends to the allowed positions of `x`.

        Args:
            x: (B, T, D). With a cache: (n, w, D), the newest position of each row.
            mask: see `attention_weights`; None allows all positions.
            weights: if given, the (B, H, T, S) weights are appended to this list.
            layout: of `x` and the result.
            cache: keys and values of earlier positions; those of `x` are appended.
        """
        mixed = layout.split_heads(self.query_key_value(x), 3 * self.heads)  # (B, 3H, T, K)
        if cache is not None:
            if self.rotary is not None:
                turned = mixed[:, : 2 * self.heads]
                turned.copy_(self.rotary(turned, cache.length, positions=1))
            query, key_value = mixed[:, : self.heads], mixed[:, self.heads :]
            return self.answer(query, *cache.append(key_value), mask, kernel="plain")
        query, key, value = mixed.chunk(3, dim=1)  # (B, H, T, K) each
        if self.rotary is not None:
            query, key = self.rotary(query), self.rotary(key)
        return self.answer(query, key, value, mask, weights, layout)


class CrossAttention(MultiHeadAttention):
    """Cross-attention: queries from the target, keys and values from the encoder's output."""

    def __init__(self, d_model: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__(heads, dropout)
        self.query = nn.Linear(d_model, d_model)
        self.key_value = FusedLinear(d_model, d_model, blocks=2)
        self.output = nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | CrossCache,
        mask: Tensor | None,
        weights: list[Tensor] | None = None,
        layout: Layout = PADDED,
        memory_layout: Layout = PADDED,
    ) -> Tensor:
        """Return (B, T, D): each position of `x` attends to allowed positions of `memory`; see `SelfAttention.forward`.

        `memory` is the encoder's output (B, S, D), or its keys and values, which a search computes once.
        """
        query = layout.split_heads(self.query(x), self.heads)  # (B, H, T, K)
        if isinstance(memory, CrossCache):
            count = len(query)
            return self.answer(query, memory.key[:count], memory.value[:count], mask, kernel="plain")
        return self.answer(query, *self.project(memory, memory_layout), mask, weights, layout)

    def project(self, memory: Tensor, layout: Layout = PADDED) -> tuple[Tensor, Tensor]:
        """Return keys and values (B, H, S, K) of `memory` (B, S, D), which has this `layout`."""
        key, value = layout.split_heads(self.key_value(memory), 2 * self.heads).chunk(2, dim=1)
        return key, value
