"""The layers of encoder and decoder (Vaswani et al. 2017 §3.1): attention, feed-forward, and residuals around both.

One decoder layer serves training and search. In training, the positions of a sentence attend to each other under a
causal mask. In a search, the input is the newest position of w hypotheses; earlier keys and values are in a cache.

R rows, S source positions, T target positions, D model width, F feed-forward width, H heads
In a search step: n unfinished sentences, w hypotheses of each
"""

from dataclasses import dataclass
from typing import Literal, assert_never

import torch.nn.functional as F
from torch import Tensor, nn

from translator.core.attention import CrossAttention, FusedLinear, SelfAttention
from translator.core.cache import KeyValue, LayerCache, StepBiases
from translator.core.masks import Masks
from translator.core.positions import Positions

Activation = Literal["relu", "gelu", "swiglu"]
NormOrder = Literal["pre", "post"]


@dataclass(frozen=True)
class NetworkSettings:
    """The size and structure of a Transformer."""

    d_model: int  # D
    heads: int  # H; divides D
    encoder_layers: int
    decoder_layers: int
    feed_forward: int  # F
    dropout: float = 0.0  # after each sublayer and after the embedding
    attention_dropout: float = 0.0  # on the attention weights
    feed_forward_dropout: float = 0.0  # after the activation
    norm: NormOrder = "pre"
    activation: Activation = "relu"
    positions: Positions = "sinusoidal"
    max_positions: int = 1024  # P, the tokens of the longest sequence
    tied_embeddings: Literal["none", "target", "all"] = "target"


class FeedForward(nn.Module):
    """The position-wise feed-forward sublayer (Vaswani et al. 2017 §3.3): D → F, activation, F → D.

    The activation is `relu` as in the paper, `gelu` (Hendrycks and Gimpel 2016), or `swiglu` (Shazeer 2020), which
    multiplies the widened vector by a gate; one fused projection of width 2F computes both. Then dropout is applied.
    """

    def __init__(self, d_model: int, width: int, activation: Activation, dropout: float = 0.0) -> None:
        super().__init__()
        self.activation = activation
        self.inner = FusedLinear(d_model, width, blocks=2 if activation == "swiglu" else 1)
        self.dropout = nn.Dropout(dropout)
        self.outer = nn.Linear(width, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., D) for `x` (..., D)."""
        hidden = self.inner(x)  # (..., F), or (..., 2F) with a gate
        if self.activation == "swiglu":
            gate, value = hidden.chunk(2, dim=-1)
            hidden = F.silu(gate) * value
        elif self.activation == "gelu":
            hidden = F.gelu(hidden)
        elif self.activation == "relu":
            hidden = F.relu(hidden)
        else:
            assert_never(self.activation)
        y: Tensor = self.outer(self.dropout(hidden))
        return y


class Residual(nn.Module):
    """The residual connection around a sublayer, with LayerNorm and dropout (Vaswani et al. 2017 §3.1, §5.4).

    post:  LayerNorm(x + dropout(sublayer(x)))     the paper's order
    pre:   x + dropout(sublayer(LayerNorm(x)))     Xiong et al. 2020; the stack ends in a final LayerNorm

    A layer computes `y = sublayer(residual.enter(x))`, then `residual.leave(x, y)`.
    """

    def __init__(self, d_model: int, dropout: float, order: NormOrder) -> None:
        super().__init__()
        self.order = order
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def enter(self, x: Tensor) -> Tensor:
        """Return the input (R, L, D) of the sublayer for `x` (R, L, D)."""
        if self.order == "pre":
            x = self.norm(x)
        return x

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the sum (R, L, D) of `x` and the sublayer's output `y`, (R, L, D) each."""
        x = x + self.dropout(y)
        if self.order == "post":
            x = self.norm(x).to(x.dtype)  # autocast returns float32, and all layers shall have one type
        return x


class FinalNorm(nn.LayerNorm):
    """The end of a pre-norm stack, whose residual sum is not normalized; autocast does not change the type."""

    def forward(self, x: Tensor) -> Tensor:
        """Return (R, L, D) for `x` (R, L, D)."""
        return super().forward(x).to(x.dtype)


def final_norm(d_model: int, order: NormOrder) -> nn.Module:
    """Return the last layer of a stack: a norm for pre-norm, else identity."""
    if order == "pre":
        return FinalNorm(d_model)
    if order == "post":
        return nn.Identity()
    assert_never(order)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__()
        width = settings.d_model
        self.self_attention = SelfAttention(width, settings.heads, settings.attention_dropout)
        self.feed_forward = FeedForward(
            width, settings.feed_forward, settings.activation, settings.feed_forward_dropout
        )
        self.self_attention_residual = Residual(width, settings.dropout, settings.norm)
        self.feed_forward_residual = Residual(width, settings.dropout, settings.norm)

    def forward(self, x: Tensor, mask: Tensor, rotation: Tensor | None = None) -> Tensor:
        """Return (R, S, D) for `x` (R, S, D); arguments as of `SelfAttention.forward`."""
        y = self.self_attention(self.self_attention_residual.enter(x), mask, rotation)
        x = self.self_attention_residual.leave(x, y)
        y = self.feed_forward(self.feed_forward_residual.enter(x))
        return self.feed_forward_residual.leave(x, y)


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward."""

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__()
        width = settings.d_model
        self.self_attention = SelfAttention(width, settings.heads, settings.attention_dropout)
        self.cross_attention = CrossAttention(width, settings.heads, settings.attention_dropout)
        self.feed_forward = FeedForward(
            width, settings.feed_forward, settings.activation, settings.feed_forward_dropout
        )
        self.self_attention_residual = Residual(width, settings.dropout, settings.norm)
        self.cross_attention_residual = Residual(width, settings.dropout, settings.norm)
        self.feed_forward_residual = Residual(width, settings.dropout, settings.norm)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | KeyValue,
        masks: Masks | StepBiases,
        rotation: Tensor | None = None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Return (R, T, D) for `x` (R, T, D).

        Args:
            x: (R, T, D). In a search step: (n, w, D), the newest position of w hypotheses of each of n sentences.
            memory: (R, S, D), the encoder's output; in a search step, its keys and values.
            masks: for self-attention and cross-attention: bool in training, float biases in a search step.
            rotation: see `SelfAttention.forward`.
            cache: see `SelfAttention.forward`.
        """
        # `enter` makes the input of a sublayer from x, and `leave` adds its output y to x; either one also normalizes.
        y = self.self_attention(self.self_attention_residual.enter(x), masks.decoder, rotation, cache)
        x = self.self_attention_residual.leave(x, y)
        y = self.cross_attention(self.cross_attention_residual.enter(x), memory, masks.cross)
        x = self.cross_attention_residual.leave(x, y)
        y = self.feed_forward(self.feed_forward_residual.enter(x))
        return self.feed_forward_residual.leave(x, y)
