"""The encoder (Vaswani et al. 2017 §3.1): a stack of self-attention and feed-forward sublayers.

B batch, S source length, D model width, H heads
"""

from collections.abc import Sequence

from torch import Tensor, nn

from translator.config import ModelConfig
from translator.model.attention import SelfAttention
from translator.model.feed_forward import FeedForward
from translator.model.packing import PADDED, Layout
from translator.model.residual import Residual, final_norm
from translator.model.rotary import RotaryPositions, rotary_positions


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig, rotary: RotaryPositions | None = None) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.d_model, config.heads, config.attention_dropout, rotary)
        self.feed_forward = FeedForward(
            config.d_model, config.feed_forward, config.activation, config.feed_forward_dropout
        )
        self.self_attention_residual = Residual(config.d_model, config.dropout, config.norm)
        self.feed_forward_residual = Residual(config.d_model, config.dropout, config.norm)

    def forward(
        self, x: Tensor, mask: Tensor | None, weights: list[Tensor] | None = None, layout: Layout = PADDED
    ) -> Tensor:
        """Return (B, S, D) for `x` (B, S, D); see `EncoderStack.forward` for the rest."""
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, mask, weights, layout))
        y: Tensor = self.feed_forward_residual(x, self.feed_forward)
        return y


class EncoderStack(nn.Module):
    """All layers of the encoder, on vectors: embedding is somebody else's work."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        rotary = rotary_positions(config)
        layers = (EncoderLayer(config, rotary) for _ in range(config.encoder_layers))
        self.layers: Sequence[EncoderLayer] = nn.ModuleList(layers)  # type: ignore[assignment]  # it has no item type
        self.norm = final_norm(config.d_model, config.norm)

    def forward(
        self, x: Tensor, mask: Tensor | None, weights: list[Tensor] | None = None, layout: Layout = PADDED
    ) -> Tensor:
        """Return the memory that the decoder attends to.

        Args:
            x: (B, S, D) embedded source.
            mask: bool, broadcastable to (B, H, S, S), True = may attend; None allows everything.
            weights: a list that each layer's (B, H, S, S) attention weights are appended to, on request.

        Returns:
            (B, S, D).
        """
        for layer in self.layers:
            x = layer(x, mask, weights, layout)
        y: Tensor = self.norm(x)
        return y
