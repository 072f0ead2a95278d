"""The decoder (Vaswani et al. 2017 §3.1): self-attention, cross-attention, and feed-forward.

One implementation serves training and search. In training, the positions of a sentence attend to each other under a
causal mask. In a search, the input is the newest position of w hypotheses; earlier keys and values are in a cache.

R rows, S source positions, T target positions, D model width, H heads
In a search step: n unfinished sentences, w hypotheses of each
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.masks import Masks
from translator.model.attention import CrossAttention, SelfAttention
from translator.model.cache import DecoderCache, KeyValue, LayerCache, SelfCache, StepBiases, cross_cache
from translator.model.layers import FeedForward, Residual, final_norm
from translator.model.rotary import rotary_positions


@dataclass
class AttentionWeights:
    """The attention weights of a model: one tensor per layer, in the order of the layers."""

    encoder: list[Tensor] = field(default_factory=list)  # (R, H, S, S) each: from source to source positions
    decoder: list[Tensor] = field(default_factory=list)  # (R, H, T, T) each: from target to target positions
    cross: list[Tensor] = field(default_factory=list)  # (R, H, T, S) each: from target to source positions


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.d_model
        self.self_attention = SelfAttention(width, config.heads, config.attention_dropout)
        self.cross_attention = CrossAttention(width, config.heads, config.attention_dropout)
        self.feed_forward = FeedForward(
            width,
            config.feed_forward,
            config.activation,
            config.feed_forward_dropout,
        )
        self.self_attention_residual = Residual(width, config.dropout, config.norm)
        self.cross_attention_residual = Residual(width, config.dropout, config.norm)
        self.feed_forward_residual = Residual(width, config.dropout, config.norm)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | KeyValue,
        masks: Masks | StepBiases,
        rotation: Tensor | None = None,
        cache: SelfCache | None = None,
    ) -> Tensor:
        """Return (R, T, D) for `x` (R, T, D).

        Args:
            x: (R, T, D). In a search step: (n, w, D), the newest position of each hypothesis.
            memory: (R, S, D), the encoder's output; in a search step, its keys and values.
            masks: which positions may be attended to, in the target and in the source.
            rotation: see `SelfAttention.forward`.
            cache: in a search step, the keys and values of earlier target positions.
        """
        # Each sublayer reads what its residual lets in, and adds its output to the residual stream.
        y = self.self_attention(self.self_attention_residual.enter(x), masks.decoder, rotation, cache)
        x = self.self_attention_residual.leave(x, y)
        y = self.cross_attention(self.cross_attention_residual.enter(x), memory, masks.cross)
        x = self.cross_attention_residual.leave(x, y)
        y = self.feed_forward(self.feed_forward_residual.enter(x))
        return self.feed_forward_residual.leave(x, y)

    def attention_weights(
        self,
        x: Tensor,
        memory: Tensor,
        masks: Masks,
        rotation: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the weights of self-attention (R, H, T, T) and cross-attention (R, H, T, S) on `x`, for pictures."""
        y = self.self_attention_residual.enter(x)
        self_weights = self.self_attention.weights(y, masks.decoder, rotation)
        # The queries of cross-attention need the output of self-attention.
        y = self.self_attention(y, masks.decoder, rotation)
        x = self.self_attention_residual.leave(x, y)
        y = self.cross_attention_residual.enter(x)
        cross_weights = self.cross_attention.weights(y, memory, masks.cross)
        return self_weights, cross_weights


class DecoderStack(nn.Module):
    """All layers of the decoder, from embedded vectors to the states for the output head."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.rotary = rotary_positions(config)
        layers = (DecoderLayer(config) for _ in range(config.decoder_layers))
        self.layers: Sequence[DecoderLayer] = nn.ModuleList(layers)  # type: ignore[assignment]  # it has no item type
        self.norm = final_norm(config.d_model, config.norm)

    def forward(
        self,
        x: Tensor,
        position: Tensor,
        memory: Tensor,
        masks: Masks,
        weights: AttentionWeights | None = None,
    ) -> Tensor:
        """Return the states (R, T, D) for the output head.

        Args:
            x: (R, T, D) embedded target input.
            position: (R, T) int64, the index of each token in its sentence.
            memory: (R, S, D), the encoder's output.
            masks: True = may attend.
            weights: if given, the attention weights of each layer are appended to its lists.
        """
        rotation = None if self.rotary is None else self.rotary(position)
        for layer in self.layers:
            if weights is not None:
                self_weights, cross_weights = layer.attention_weights(x, memory, masks, rotation)
                weights.decoder.append(self_weights)
                weights.cross.append(cross_weights)
            x = layer(x, memory, masks, rotation)
        y: Tensor = self.norm(x)
        return y

    def start(
        self,
        memory: Tensor,
        cross_mask: Tensor,
        width: int,
    ) -> DecoderCache:
        """Return an empty cache of `width` hypotheses per sentence.

        Args:
            memory: (B, S, D), the encoder's output for B sentences.
            cross_mask: (B, 1, 1, S) bool, True = may attend.
            width: W, the hypotheses of a sentence.
        """
        # Keys and values of the source are projected once; those of the target come step by step.
        layers = []
        for layer in self.layers:
            cross = cross_cache(layer.cross_attention.project(memory))
            layers.append(LayerCache(SelfCache(width), cross))
        heads = self.layers[0].self_attention.heads
        return DecoderCache(layers, cross_mask, heads, width, memory.dtype)

    def step(self, x: Tensor, cache: DecoderCache) -> Tensor:
        """Return the states (n, w, D) of the newest positions `x` (n, w, D); add their keys and values to `cache`."""
        rotation = None
        if self.rotary is not None:
            position = torch.full((1, 1), cache.length, device=x.device)
            rotation = self.rotary(position)
        # The layers compute in the order of the cache's slots, so that its memory is read in place.
        biases = cache.begin_step()
        x = cache.to_slots(x)
        for layer, layer_cache in zip(self.layers, cache.layers, strict=True):
            source = layer_cache.source_of(cache.count)
            x = layer(x, source, biases, rotation, layer_cache.target)
        return cache.to_sentences(self.norm(x))
