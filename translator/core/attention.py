"""Multi-head self-attention and cross-attention (Vaswani et al. 2017 §3.2).

In training, the queries of a row are its positions. In a step of a search, they are the w hypotheses of one of n
sentences, each at its newest position: (n, w, D) stands where training has (R, T, D). Keys and values of earlier
positions are then in a cache, which search needs and training does not (`cache.py`, to be read later).

R rows, T query positions, S key positions, L either, D model width, H heads, K head width
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translator.core.cache import KeyValue, LayerCache
from translator.core.positions import rotate

AttentionKernel = Callable[[Tensor, Tensor, Tensor, Tensor | None, float], Tensor]
"""Returns the context of query, key, value, mask and dropout, as `attention` does; `speed/attention.py` has another."""


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """Return the context (R, H, T, K): for each query, the sum of the values weighted by `attention_weights`.

    Torch's kernel does not store the weights. `query` is (R, H, T, K); `key` and `value` are (R, H, S, K); `mask` is as
    in `attention_weights`. An attention weight is dropped with the probability `dropout`.
    """
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """Return softmax(Q Kᵀ / √K) (R, H, T, S) over the allowed keys, zero elsewhere (Vaswani et al. 2017 §3.2.1).

    A mask has one of two forms, as for torch's kernel; each query may attend to at least one key:

        bool, in training          broadcastable to (R, H, T, S)    True = may attend
        float, in a search step    (R, H, T, S) or (R, H, 1, S)     added to the scores: 0 = may attend, -inf = may not

    A bool mask takes little memory, because all heads share it. A float mask, also called a bias, is added while the
    scores are computed, so that a step needs no operation of its own for it.
    """
    bias = None
    if mask is not None and mask.dtype != torch.bool:
        bias = by_head(mask)  # (R * H, T, S) or (R * H, 1, S)

    # The scores: Q Kᵀ / √K of each head, plus the bias.
    transposed_key = by_head(key).transpose(1, 2)  # (R * H, K, S)
    scale = query.size(3) ** -0.5
    product = scaled_bmm(by_head(query), transposed_key, scale, bias)  # (R * H, T, S)
    scores = product.view(*query.shape[:3], key.size(2))  # (R, H, T, S)

    # A bool mask: a forbidden key gets the score -inf, and so no weight.
    if mask is not None and mask.dtype == torch.bool:
        scores.masked_fill_(~mask, -torch.inf)
    return scores.softmax(dim=-1)


def scaled_bmm(left: Tensor, right: Tensor, scale: float, bias: Tensor | None = None) -> Tensor:
    """Return the batched product `left` · `right` · `scale` plus `bias`, in one pass over the memory."""
    if bias is not None:
        return torch.baddbmm(bias, left, right, alpha=scale)
    # With beta 0, `baddbmm` ignores its first argument.
    unused = left.new_empty(1, 1, 1)
    return torch.baddbmm(unused, left, right, beta=0, alpha=scale)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Return the context (R, H, T, K) by the definition; faster than torch's kernel for the few queries of a step."""
    weights = attention_weights(query, key, mask)
    context = torch.bmm(by_head(weights), by_head(value))
    return context.view(*query.shape[:3], value.size(3))


def by_head(x: Tensor) -> Tensor:
    """Return (R, H, T, K) as (R * H, T, K), for batched products."""
    return x.reshape(-1, *x.shape[2:])


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Return `x` (R, L, D) as (R, H, L, K); head h has columns h * K to (h + 1) * K."""
    rows, length, width = x.shape
    return x.view(rows, length, heads, width // heads).transpose(1, 2)


def merge_heads(context: Tensor) -> Tensor:
    """Return `context` (R, H, L, K) as (R, L, D)."""
    return context.transpose(1, 2).flatten(2)


class FusedLinear(nn.Linear):
    """Several projections of one input as one product; its weight stacks `blocks` matrices vertically.

    The initial weights and Muon treat each of the matrices by itself, so they have to know their number.
    """

    def __init__(self, width: int, block_width: int, blocks: int) -> None:
        super().__init__(width, blocks * block_width)
        self.blocks = blocks


class MultiHeadAttention(nn.Module):
    """The base of self-attention and cross-attention: number of heads, kernel, dropout on the weights."""

    def __init__(self, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.kernel: AttentionKernel = attention  # `Transformer.use_attention` may replace it

    @property
    def active_dropout(self) -> float:
        """The dropout on the attention weights: 0 outside training."""
        return self.dropout if self.training else 0.0


class SelfAttention(MultiHeadAttention):
    """Self-attention with one fused projection."""

    def __init__(self, d_model: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__(heads, dropout)
        self.query_key_value = FusedLinear(d_model, d_model, blocks=3)
        self.output = nn.Linear(d_model, d_model)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        rotation: Tensor | None = None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Return (R, L, D): every position of `x` attends to the allowed positions of `x` and of the cache, if any.

        Args:
            x: (R, L, D). With a cache: (n, w, D), the newest position of w hypotheses of each of n sentences.
            mask: see `attention_weights`; None allows all positions. In a search step it keeps the hypotheses of a
                sentence apart, whose keys are side by side.
            rotation: what `RotaryPositions` returns for the positions of `x`.
            cache: in a search step, the cache of this layer. It has the keys and values of earlier positions, and
                gets those of `x`.
        """
        query, key, value = self.project(x, rotation)  # (R, H, L, K) each
        if cache is None:
            context = self.kernel(query, key, value, mask, self.active_dropout)
        else:
            # A hypothesis attends to its newest position and to the earlier ones. A step has few queries, for which
            # `attend` is faster than the kernel.
            all_keys, all_values = cache.append(KeyValue(key, value))  # (n, H, keys so far, K) each
            context = attend(query, all_keys, all_values, mask)
        y: Tensor = self.output(merge_heads(context))
        return y

    def project(self, x: Tensor, rotation: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return query, key and value, (R, H, L, K) each, of `x` (R, L, D)."""
        projected = split_heads(self.query_key_value(x), 3 * self.heads)  # (R, 3H, L, K)
        query, key, value = projected.chunk(3, dim=1)
        return rotate(query, rotation), rotate(key, rotation), value


class CrossAttention(MultiHeadAttention):
    """Cross-attention: queries from the target, keys and values from the encoder's output."""

    def __init__(self, d_model: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__(heads, dropout)
        self.query = nn.Linear(d_model, d_model)
        self.key_value = FusedLinear(d_model, d_model, blocks=2)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor | KeyValue, mask: Tensor | None) -> Tensor:
        """Return (R, T, D): each position of `x` (R, T, D) attends to the allowed positions of `memory`.

        `memory` is the encoder's output (R, S, D). In a search it is its keys and values, which are computed once.
        """
        query = split_heads(self.query(x), self.heads)
        if isinstance(memory, KeyValue):
            context = attend(query, memory.key, memory.value, mask)
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
