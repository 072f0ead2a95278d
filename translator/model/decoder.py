"""The decoder (Vaswani et al. 2017 §3.1): self-attention, cross-attention, and feed-forward.

One implementation serves training and search. In training, T positions of a sentence attend to each other under a
causal mask. In a search, the input is the newest position of w hypotheses; earlier keys and values are in a cache.

B batch, S source length, T target length, D model width, H heads
In a search: n unfinished sentences of the B, W rows for each (the beam), R = n * W rows
w rows of a sentence in a step: 1 at the first step, where all rows of a sentence are equal, then W
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.model.attention import CrossAttention, CrossCache, SelfAttention, SelfCache
from translator.model.embedding import RotaryPositions, rotary_positions
from translator.model.layers import PADDED, FeedForward, Layout, Residual, final_norm

Module = TypeVar("Module", bound=nn.Module)


@dataclass
class AttentionWeights:
    """The attention weights of a model: one tensor per layer, in the order of the layers."""

    encoder: list[Tensor] = field(default_factory=list)  # (B, H, S, S) each: from source to source positions
    decoder: list[Tensor] = field(default_factory=list)  # (B, H, T, T) each: from target to target positions
    cross: list[Tensor] = field(default_factory=list)  # (B, H, T, S) each: from target to source positions


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward."""

    def __init__(self, config: ModelConfig, rotary: RotaryPositions | None = None) -> None:
        super().__init__()
        width = config.d_model
        self.self_attention = SelfAttention(width, config.heads, config.attention_dropout, rotary)
        self.cross_attention = CrossAttention(width, config.heads, config.attention_dropout)
        self.feed_forward = FeedForward(width, config.feed_forward, config.activation, config.feed_forward_dropout)
        self.self_attention_residual = Residual(width, config.dropout, config.norm)
        self.cross_attention_residual = Residual(width, config.dropout, config.norm)
        self.feed_forward_residual = Residual(width, config.dropout, config.norm)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | CrossCache,
        decoder_mask: Tensor | None,
        cross_mask: Tensor | None,
        weights: AttentionWeights | None = None,
        layout: Layout = PADDED,
        memory_layout: Layout = PADDED,
        cache: SelfCache | None = None,
    ) -> Tensor:
        """Return (B, T, D) for `x` (B, T, D); see `DecoderStack.forward`, and `DecoderStack.step` for a cache."""
        own, cross = (None, None) if weights is None else (weights.decoder, weights.cross)
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, decoder_mask, own, layout, cache))
        x = self.cross_attention_residual(
            x, lambda y: self.cross_attention(y, memory, cross_mask, cross, layout, memory_layout)
        )
        y: Tensor = self.feed_forward_residual(x, self.feed_forward)
        return y


class DecoderStack(nn.Module):
    """All layers of the decoder, from embedded vectors to the states for the output head."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        rotary = rotary_positions(config)
        layers = (DecoderLayer(config, rotary) for _ in range(config.decoder_layers))
        self.layers: Sequence[DecoderLayer] = nn.ModuleList(layers)  # type: ignore[assignment]  # it has no item type
        self.norm = final_norm(config.d_model, config.norm)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        decoder_mask: Tensor | None,
        cross_mask: Tensor | None,
        weights: AttentionWeights | None = None,
        layout: Layout = PADDED,
        memory_layout: Layout = PADDED,
    ) -> Tensor:
        """Return the states (B, T, D) for the output head.

        Args:
            x: (B, T, D) embedded target input.
            memory: (B, S, D), the encoder's output.
            decoder_mask: bool, broadcastable to (B, H, T, T), True = may attend; None also allows later positions.
            cross_mask: bool, broadcastable to (B, H, T, S), True = may attend; None allows all positions.
            weights: if given, each layer's attention weights are appended to its lists.
            layout: of `x` and the result.
            memory_layout: of `memory`.
        """
        for layer in self.layers:
            x = layer(x, memory, decoder_mask, cross_mask, weights, layout, memory_layout)
        y: Tensor = self.norm(x)
        return y

    def start(self, memory: Tensor, cross_mask: Tensor, width: int) -> "DecoderCache":
        """Return an empty cache of `width` rows per sentence, for `memory` (B, S, D) and `cross_mask` (B, 1, 1, S)."""
        layers = [
            (without_hooks(layer), SelfCache(width), CrossCache.of(*layer.cross_attention.project(memory)))
            for layer in self.layers
        ]
        return DecoderCache(layers, cross_mask, self.layers[0].self_attention.heads, width, memory.dtype)

    def step(self, x: Tensor, cache: "DecoderCache") -> Tensor:
        """Return the states (n, w, D) of the newest positions `x` (n, w, D); add their keys and values to `cache`."""
        biases = cache.begin_step()
        x = x if cache.order is None else x.index_select(0, cache.order)
        for layer, own, memory in cache.layers:
            x = layer(x, memory, biases.own, biases.cross, cache=own)
        y: Tensor = self.norm(x if cache.places is None else x.index_select(0, cache.places))
        return y


class StepBiases(NamedTuple):
    """Biases on the attention scores of a step, the same in every layer: 0 = may attend, -inf = may not."""

    own: Tensor | None  # (n * H, w, T * W) for the target so far; None allows all positions
    cross: Tensor  # (n * H, 1, S) for the source


class DecoderCache:
    """The state of a search: keys and values of every decoder layer, and the positions that each row may attend to.

    The hypotheses of a sentence are branches of a tree. Each row attends to the keys of all rows of its sentence, under
    a bias of 0 for its own branch and -inf for the others. So reordering the beam moves no keys. When sentences leave
    the batch, only the last ones move, into the free places.

    Callers number the rows in the order after `select`. Internally, a sentence keeps its place as long as possible.
    `cross_mask` is (B, 1, 1, S) bool, True = may attend; `dtype` is that of the attention scores.
    """

    def __init__(
        self,
        layers: Sequence[tuple[DecoderLayer, SelfCache, CrossCache]],
        cross_mask: Tensor,
        heads: int,
        width: int,
        dtype: torch.dtype,
    ) -> None:
        self.layers = layers
        self.width = width
        self.count = len(cross_mask)  # n
        self.length = 0  # T
        self.places: Tensor | None = None  # (n,) the place of each sentence; None if it equals its index
        self.order: Tensor | None = None  # (n,) the sentence in each place
        self._heads = heads
        bias = torch.zeros(cross_mask.shape, dtype=dtype, device=cross_mask.device)
        bias.masked_fill_(~cross_mask, -torch.inf)
        self._cross_bias = bias.expand(-1, heads, -1, -1).contiguous()  # (B, H, 1, S), by place
        self._branches = bias.new_empty(self.count * width, 0, width)  # (R, T, W), by row
        self._own = bias.new_full((width, width), -torch.inf).fill_diagonal_(0.0)  # a row attends to its own entry

    def begin_step(self) -> StepBiases:
        """Advance by one position and return the biases of this step."""
        self.length += 1
        cross = self._cross_bias[: self.count].flatten(0, 1)
        if self.width == 1:
            return StepBiases(None, cross)
        own = self._own.expand(self.count, -1, -1).reshape(-1, 1, self.width)  # (R, 1, W)
        self._branches = torch.cat((self._branches, own), dim=1)
        if self.length == 1:
            return StepBiases(None, cross)
        bias = self._branches.view(self.count, 1, self.width, -1)
        if self.order is not None:
            bias = bias.index_select(0, self.order)
        return StepBiases(bias.expand(-1, self._heads, -1, -1).flatten(0, 1), cross)

    def select(self, rows: Tensor) -> None:
        """Replace row i by row `rows[i]`, for `rows` (R',) int64; see `SearchState.select`."""
        if self.width > 1:
            self._branches = self._branches.index_select(0, rows)
        if len(rows) < self.count * self.width:
            self._keep(rows[:: self.width] // self.width)

    def _keep(self, sentences: Tensor) -> None:
        """Keep only `sentences` (n',) int64, ascending; they fill the first n' places."""
        count = len(sentences)
        places = sentences if self.places is None else self.places[sentences]  # (n',)
        outside = places >= count
        free = torch.ones(count, dtype=torch.bool, device=places.device).index_fill_(0, places[~outside], False)
        old, new = places[outside], free.nonzero().squeeze(1)
        if len(old):
            self._cross_bias[new] = self._cross_bias[old]
            for _, own, cross in self.layers:
                own.move(old, new)
                cross.move(old, new)
            places = places.masked_scatter(outside, new)
        self.count = count
        self.places = places
        self.order = torch.empty_like(places)
        self.order[places] = torch.arange(count, device=places.device)


def without_hooks(module: Module) -> Module:
    """Return an ordinary Python object that computes `module(...)` with the same code and weights.

    At each call, `nn.Module` looks up its parts in three dictionaries and checks for hooks. A search step makes sixty
    calls; with one row, this overhead is a tenth of its time (docs/decisions.md).
    """
    plain: Any = object.__new__(_without_hooks(type(module)))  # type: ignore[arg-type]  # a class is hashable
    vars(plain).update(vars(module), **module._parameters, **module._buffers)
    vars(plain).update({name: part and without_hooks(part) for name, part in module._modules.items()})
    same: Module = plain
    return same


@functools.lru_cache
def _without_hooks(kind: type[nn.Module]) -> type:
    """Return a plain class with the methods of `kind`; a call of an instance runs `forward`."""
    bases = [base for base in reversed(kind.__mro__) if issubclass(base, nn.Module) and base is not nn.Module]
    methods = {name: value for base in bases for name, value in vars(base).items() if isinstance(value, FunctionType)}
    return type(kind.__name__, (), methods | {"__call__": methods["forward"]})
