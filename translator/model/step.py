"""One decoder layer in the midst of a search: what it computes for the newest position, and what it keeps.

It is what `DecoderLayer` computes, for one position and nothing else. A step of a few rows spends as long between the
products as in them, so the weights are taken out of their modules once, when a search begins.

B sentences at the beginning, S source length, T target positions so far, D model width, H heads, K head width
n sentences with w rows each, W rows of a sentence in the cache (see `translator.model.cache`)
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translator.model.attention import CrossAttention, SelfAttention
from translator.model.cache import SelfCache, StepBiases
from translator.model.feed_forward import FeedForward, activate
from translator.model.prepared_linear import PreparedLinear
from translator.model.residual import Residual

Residuals = tuple[Residual, Residual, Residual]


class LayerStep:
    """A decoder layer with the keys and values of one search (see `translator.model.cache.LayerState`).

    Args:
        self_attention: of the layer.
        cross_attention: of the layer.
        feed_forward: of the layer.
        residuals: around these three.
        memory: (B, S, D), the encoder's output.
        width: W.
    """

    def __init__(
        self,
        self_attention: SelfAttention,
        cross_attention: CrossAttention,
        feed_forward: FeedForward,
        residuals: Residuals,
        memory: Tensor,
        width: int,
    ) -> None:
        self._own, self._cross = SelfCache(width), cross_attention.project_memory(memory)
        self._rotary = self_attention.rotary
        self._heads, self._activation = self_attention.heads, feed_forward.activation
        self._query_key_value = _product(self_attention.query_key_value)
        self._own_output = _product(self_attention.output)
        self._query = _product(cross_attention.query)
        self._cross_output = _product(cross_attention.output)
        self._inner, self._outer = _product(feed_forward.inner), _product(feed_forward.outer)
        norms = [_norms(residual) for residual in residuals]
        self._before, self._after = [before for before, _ in norms], [after for _, after in norms]

    def advance(self, x: Tensor, count: int, biases: StepBiases) -> Tensor:
        """Return (n * w, D) for the newest position `x` (n * w, D) of n = `count` sentences, and keep what it gives."""
        before, after = self._before, self._after
        x = after[0](x + self._attend_to_itself(before[0](x), count, biases.own))
        x = after[1](x + self._attend_to_source(before[1](x), count, biases.cross))
        return after[2](x + self._outer(activate(self._inner(before[2](x)), self._activation)))

    def move(self, old: Tensor, new: Tensor) -> None:
        """Let the sentences in the places `old` stand in the places `new`, (sentences,) int64 each."""
        self._own.move(old, new)
        self._cross.move(old, new)

    def _attend_to_itself(self, x: Tensor, count: int, bias: Tensor | None) -> Tensor:
        """Attend from the newest position of every row (n * w, D) to what its branch has so far."""
        mixed = self._query_key_value(x).view(count, -1, 3, self._heads, x.size(1) // self._heads)  # (n, w, 3, H, K)
        if self._rotary is not None:
            turned = mixed[:, :, :2].unsqueeze(-2)  # a single position
            mixed[:, :, :2] = self._rotary(turned, start=self._own.length).squeeze(-2)
        keys, values = self._own.append(mixed[:, :, 1:])  # (n * H, T * W, K) each
        return self._own_output(_attend(mixed[:, :, 0], keys.transpose(1, 2), values, bias))

    def _attend_to_source(self, x: Tensor, count: int, bias: Tensor) -> Tensor:
        """Attend from the newest position of every row (n * w, D) to its sentence."""
        # The rows of one sentence share its keys: they are taken as w queries of it, and nothing is copied w times.
        query = self._query(x).view(count, -1, self._heads, x.size(1) // self._heads)  # (n, w, H, K)
        return self._cross_output(_attend(query, *self._cross.of(count), bias))


def _attend(query: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None) -> Tensor:
    """Return for each of a few queries a sentence the mean of the values, by products that need no copy of the keys.

    Args:
        query: (n, w, H, K).
        keys: (n * H, K, S), of any strides that a product takes.
        values: (n * H, S, K), likewise.
        bias: broadcastable to (n * H, w, S), 0 = may attend, -inf = may not; None allows everything.

    Returns:
        (n * w, H * K).
    """
    count, rows, heads, width = query.shape
    queries = query.transpose(1, 2).reshape(count * heads, rows, width)
    if bias is None:
        scores = torch.baddbmm(queries.new_empty(1, 1, 1), queries, keys, beta=0, alpha=width**-0.5)  # (n * H, w, S)
    else:
        scores = torch.baddbmm(bias, queries, keys, alpha=width**-0.5)
    context = torch.bmm(scores.softmax(dim=-1), values)  # (n * H, w, K)
    if rows == 1:
        return context.view(count, heads * width)
    return context.view(count, heads, rows, width).transpose(1, 2).reshape(count * rows, heads * width)


def _product(linear: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return what multiplies rows (R, in) as `linear` does."""
    if isinstance(linear, PreparedLinear):
        return linear.of_rows
    assert isinstance(linear, nn.Linear)
    weight, bias = linear.weight, linear.bias
    return lambda x: F.linear(x, weight, bias)


def _norms(residual: Residual) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """Return what comes before the sublayer of `residual`, and what comes after the sum."""
    norm = residual.norm
    shape, weight, bias, epsilon = list(norm.normalized_shape), norm.weight, norm.bias, norm.eps

    def normalize(x: Tensor) -> Tensor:
        return torch.layer_norm(x, shape, weight, bias, epsilon)

    return (normalize, _as_it_is) if residual.order == "pre" else (_as_it_is, normalize)


def _as_it_is(x: Tensor) -> Tensor:
    return x
