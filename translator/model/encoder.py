"""The encoder (Vaswani et al. 2017 §3.1): a stack of self-attention and feed-forward sublayers.

B batch, S source length, D model width, H heads
"""

from collections.abc import Sequence

from torch import Tensor, nn

from translator.config import ModelConfig
from translator.model.attention import SelfAttention
from translator.model.embedding import RotaryPositions, rotary_positions
from translator.model.layers import PADDED, FeedForward, Layout, Residual, final_norm


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig, rotary: RotaryPositions | None = None) -> None:
        super().__init__()
        width = config.d_model
        self.self_attention = SelfAttention(width, config.heads, config.attention_dropout, rotary)
        self.feed_forward = FeedForward(width, config.feed_forward, config.activation, config.feed_forward_dropout)
        self.self_attention_residual = Residual(width, config.dropout, config.norm)
        self.feed_forward_residual = Residual(width, config.dropout, config.norm)

    def forward(
        self, x: Tensor, mask: Tensor | None, weights: list[Tensor] | None = None, layout: Layout = PADDED
    ) -> Tensor:
        """Return (B, S, D) for `x` (B, S, D); see `EncoderStack.forward`."""
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, mask, weights, layout))
        y: Tensor = self.feed_forward_residual(x, self.feed_forward)
        return y


class EncoderStack(nn.Module):
    """All layers of the encoder, on embedded vectors."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        rotary = rotary_positions(config)
        layers = (EncoderLayer(config, rotary) for _ in range(config.encoder_layers))
        self.layers: Sequence[EncoderLayer] = nn.ModuleList(layers)  # type: ignore[assignment]  # it has no item type
        self.norm = final_norm(config.d_model, config.norm)

    def forward(
        self, x: Tensor, mask: Tensor | None, weights: list[Tensor] | None = None, layout: Layout = PADDED
    ) -> Tensor:
        """Return the memory (B, S, D), which the decoder attends to, for the embedded source `x` (B, S, D).

        `mask` is bool, broadcastable to (B, H, S, S), True = may attend; None allows all positions. The (B, H, S, S)
        attention weights of each layer are appended to `weights`. `layout` is that of `x` and the result.
        """
        for layer in self.layers:
            x = layer(x, mask, weights, layout)
        y: Tensor = self.norm(x)
        return y
