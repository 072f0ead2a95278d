"""The decoder (Vaswani et al. 2017 §3.1): self-attention, attention to the encoder's output, and feed-forward.

B batch, S source length, T target length, D model width, H heads
In a step of a search (see `translator.model.cache`): n sentences with w rows each
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor, nn

from translator.config import ModelConfig
from translator.model.attention import CrossAttention, SelfAttention
from translator.model.cache import DecoderCache
from translator.model.feed_forward import FeedForward
from translator.model.packing import PADDED, Layout
from translator.model.residual import Residual, final_norm
from translator.model.rotary import RotaryPositions, rotary_positions
from translator.model.step import LayerStep


@dataclass
class AttentionWeights:
    """Where a model looked: one tensor a layer, in the order of the layers."""

    encoder: list[Tensor] = field(default_factory=list)
    """(B, H, S, S) each: from source positions to source positions."""
    decoder: list[Tensor] = field(default_factory=list)
    """(B, H, T, T) each: from target positions to target positions."""
    cross: list[Tensor] = field(default_factory=list)
    """(B, H, T, S) each: from target positions to source positions."""


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward."""

    def __init__(self, config: ModelConfig, rotary: RotaryPositions | None = None) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.d_model, config.heads, config.attention_dropout, rotary)
        self.cross_attention = CrossAttention(config.d_model, config.heads, config.attention_dropout)
        self.feed_forward = FeedForward(
            config.d_model, config.feed_forward, config.activation, config.feed_forward_dropout
        )
        self.self_attention_residual = Residual(config.d_model, config.dropout, config.norm)
        self.cross_attention_residual = Residual(config.d_model, config.dropout, config.norm)
        self.feed_forward_residual = Residual(config.d_model, config.dropout, config.norm)

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
        """Return (B, T, D) for `x` (B, T, D); see `DecoderStack.forward` for the rest."""
        own, cross = (None, None) if weights is None else (weights.decoder, weights.cross)
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, decoder_mask, own, layout))
        x = self.cross_attention_residual(
            x, lambda y: self.cross_attention(y, memory, cross_mask, cross, layout, memory_layout)
        )
        y: Tensor = self.feed_forward_residual(x, self.feed_forward)
        return y

    def start(self, memory: Tensor, width: int) -> LayerStep:
        """Return this layer at the beginning of a search with `width` rows a sentence on `memory` (B, S, D)."""
        return LayerStep(
            self.self_attention,
            self.cross_attention,
            self.feed_forward,
            (self.self_attention_residual, self.cross_attention_residual, self.feed_forward_residual),
            memory,
            width,
        )


class DecoderStack(nn.Module):
    """All layers of the decoder, on vectors: embedding and the output head are somebody else's work."""

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
        """Return the states that the output head reads.

        Args:
            x: (B, T, D) embedded target input.
            memory: (B, S, D), the encoder's output.
            decoder_mask: bool, broadcastable to (B, H, T, T), True = may attend; None allows everything, also what lies
                ahead.
            cross_mask: bool, broadcastable to (B, H, T, S), True = may attend; None allows everything.
            weights: each layer's attention weights are appended to its lists, on request.

        Returns:
            (B, T, D).
        """
        for layer in self.layers:
            x = layer(x, memory, decoder_mask, cross_mask, weights, layout, memory_layout)
        y: Tensor = self.norm(x)
        return y

    def start(self, memory: Tensor, cross_mask: Tensor, width: int) -> DecoderCache:
        """Return an empty cache for `width` rows a sentence on `memory` (B, S, D) under `cross_mask` (B, 1, 1, S)."""
        layers = [layer.start(memory, width) for layer in self.layers]
        return DecoderCache(layers, cross_mask, self.layers[0].self_attention.heads, width, memory.dtype)

    def step(self, x: Tensor, cache: DecoderCache) -> Tensor:
        """Return the states of the newest position `x`, (n * w, D) each, which `cache` takes in."""
        x = cache.to_places(x)
        biases = cache.begin_step()
        for layer in cache.layers:
            x = layer.advance(x, cache.count, biases)
        y: Tensor = self.norm(cache.from_places(x))
        return y
