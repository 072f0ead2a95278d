"""Multi-head attention (Vaswani et al. 2017 §3.2), over a sequence itself or over the encoder's output.

The linear layers are position-wise and work on tensors of any leading shape; only `attend` mixes positions.

B batch, T query length, S key length, D model width, H heads, K head width
"""

from typing import Final, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translator.model.cache import CrossCache
from translator.model.fused_linear import FusedLinear
from translator.model.packing import PADDED, Layout
from translator.model.plain_attention import plain_attention
from translator.model.rotary import RotaryPositions

AttentionKernel = Literal["fused", "plain"]
LARGEST_PLAIN: Final = 256 * 256
"""Weights of one head beyond which the plain kernel would take too much memory."""


def split_heads(projected: Tensor, heads: int) -> Tensor:
    """Turn (B, T, H * K) into a view (B, H, T, K); head h has columns h * K to (h + 1) * K."""
    rows, length, width = projected.shape
    return projected.view(rows, length, heads, width // heads).transpose(1, 2)


def merge_heads(context: Tensor) -> Tensor:
    """Turn (B, H, T, K) back into (B, T, H * K): positions first, then the heads side by side."""
    return context.transpose(1, 2).flatten(2)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """Return softmax(Q Kᵀ / √K) over the allowed keys, exactly zero elsewhere (Vaswani et al. 2017 §3.2.1).

    Args:
        query: (B, H, T, K).
        key: (B, H, S, K).
        mask: bool, broadcastable to (B, H, T, S), True = may attend; a row without any True gives zeros.

    Returns:
        (B, H, T, S) weights, in float32 at least.
    """
    scores = torch.matmul(query * query.size(-1) ** -0.5, key.transpose(-2, -1))  # (B, H, T, S)
    scores = scores.float() if scores.dtype in (torch.bfloat16, torch.float16) else scores
    if mask is None:
        return scores.softmax(dim=-1)
    # A finite filling: beside an allowed score it vanishes in the softmax all the same, and a row that has no allowed
    # score comes out uniform instead of NaN, in both directions of the pass. The second filling sets it to zero.
    blocked = ~mask
    scores = scores.masked_fill(blocked, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1).masked_fill(blocked, 0.0)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float = 0.0,
    weights: list[Tensor] | None = None,
    kernel: AttentionKernel = "fused",
) -> Tensor:
    """Return for each query the mean of the values weighted by `attention_weights`.

    Args:
        query: (B, H, T, K).
        key: (B, H, S, K).
        value: (B, H, S, K).
        mask: bool, broadcastable to (B, H, T, S), True = may attend; a row without any True gives zeros.
        dropout: probability that a weight is dropped.
        weights: when given, the (B, H, T, S) weights before dropout are appended to it; this takes the slower path.
        kernel: `fused` never writes the weights down; `plain` does, which is faster for short sentences on a CPU, and
            leaves long ones to the other. They agree up to rounding.

    Returns:
        (B, H, T, K).
    """
    if weights is None and kernel == "plain" and query.size(2) * key.size(2) <= LARGEST_PLAIN:
        return plain_attention(query, key, value, mask, dropout)
    if weights is None:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
    probabilities = attention_weights(query, key, mask)  # (B, H, T, S)
    weights.append(probabilities)
    return torch.matmul(F.dropout(probabilities, dropout).to(value.dtype), value)


class SelfAttention(nn.Module):
    """Attention of a sequence to itself; queries, keys and values come from one fused projection.

    Args:
        d_model: D, the width of the sequence.
        heads: H; must divide D.
        dropout: on the attention weights.
        rotary: turns queries and keys; without, the sequence itself says where its tokens stand.
    """

    def __init__(self, d_model: int, heads: int, dropout: float = 0.0, rotary: RotaryPositions | None = None) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.rotary = rotary
        self.kernel: AttentionKernel = "fused"
        """The kernel that computes it, except in steps of a search."""
        self.query_key_value = FusedLinear(d_model, d_model, blocks=3)
        self.output = nn.Linear(d_model, d_model)

    def forward(
        self, x: Tensor, mask: Tensor | None, weights: list[Tensor] | None = None, layout: Layout = PADDED
    ) -> Tensor:
        """Attend from every position of `x` to the allowed positions of `x`.

        Args:
            x: (B, T, D).
            mask: bool, broadcastable to (B, H, T, T), True = may attend; None allows everything.
            weights: a list that the (B, H, T, T) weights are appended to, on request.
            layout: of `x`, which is what it packed.

        Returns:
            As `x`.
        """
        query, key, value = self._split(layout.unpack(self.query_key_value(x)))  # (B, H, T, K) each
        dropout = self.dropout if self.training else 0.0
        context = merge_heads(attend(query, key, value, mask, dropout, weights, self.kernel))  # (B, T, D)
        y: Tensor = self.output(layout.pack(context))
        return y

    def _split(self, projected: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = (split_heads(part, self.heads) for part in projected.chunk(3, dim=-1))
        if self.rotary is not None:
            query, key = self.rotary(query), self.rotary(key)
        return query, key, value


class CrossAttention(nn.Module):
    """Attention from the target to the encoder's output: queries from the one, keys and values from the other.

    Args:
        d_model: D, the width of both.
        heads: H; must divide D.
        dropout: on the attention weights.
    """

    def __init__(self, d_model: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.kernel: AttentionKernel = "fused"
        """The kernel that computes it, except in steps of a search."""
        self.query = nn.Linear(d_model, d_model)
        self.key_value = FusedLinear(d_model, d_model, blocks=2)
        self.output = nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        weights: list[Tensor] | None = None,
        layout: Layout = PADDED,
        memory_layout: Layout = PADDED,
    ) -> Tensor:
        """Attend from every position of `x` to the allowed positions of `memory`.

        Args:
            x: (B, T, D).
            memory: (B, S, D), the encoder's output.
            mask: bool, broadcastable to (B, H, T, S), True = may attend; None allows everything.
            weights: a list that the (B, H, T, S) weights are appended to, on request.
            layout: of `x`, which is what it packed.
            memory_layout: of `memory`, likewise.

        Returns:
            As `x`.
        """
        query = split_heads(layout.unpack(self.query(x)), self.heads)  # (B, H, T, K)
        keys, values = self._keys_values(memory, memory_layout)  # (B, H, S, K) each
        dropout = self.dropout if self.training else 0.0
        context = merge_heads(attend(query, keys, values, mask, dropout, weights, self.kernel))  # (B, T, D)
        y: Tensor = self.output(layout.pack(context))
        return y

    def project_memory(self, memory: Tensor) -> CrossCache:
        """Return the keys and values of `memory` (B, S, D) for a search."""
        keys, values = self._keys_values(memory, PADDED)
        return CrossCache(keys.transpose(2, 3).contiguous(), values.contiguous())

    def _keys_values(self, memory: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        key, value = layout.unpack(self.key_value(memory)).chunk(2, dim=-1)  # (B, S, D) each
        return split_heads(key, self.heads), split_heads(value, self.heads)  # (B, H, S, K) each
