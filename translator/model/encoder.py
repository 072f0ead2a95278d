"""The encoder (Vaswani et al. 2017 §3.1): a stack of self-attention and feed-forward sublayers.

R rows, S source positions, D model width, H heads
"""

from collections.abc import Sequence

from torch import Tensor, nn

from translator.config import ModelConfig
from translator.model.attention import SelfAttention
from translator.model.layers import FeedForward, Residual, final_norm
from translator.model.rotary import rotary_positions


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.d_model
        self.self_attention = SelfAttention(width, config.heads, config.attention_dropout)
        self.feed_forward = FeedForward(width, config.feed_forward, config.activation, config.feed_forward_dropout)
        self.self_attention_residual = Residual(width, config.dropout, config.norm)
        self.feed_forward_residual = Residual(width, config.dropout, config.norm)

    def forward(
        self,
        x: Tensor,
        mask: Tensor,
        rotation: Tensor | None = None,
    ) -> Tensor:
        """Return (R, S, D) for `x` (R, S, D); see `SelfAttention.forward` for mask and rotation."""
        y = self.self_attention(self.self_attention_residual.enter(x), mask, rotation)
        x = self.self_attention_residual.leave(x, y)
        y = self.feed_forward(self.feed_forward_residual.enter(x))
        return self.feed_forward_residual.leave(x, y)

    def attention_weights(
        self,
        x: Tensor,
        mask: Tensor,
        rotation: Tensor | None = None,
    ) -> Tensor:
        """Return the weights (R, H, S, S) of the layer's attention on `x`, for pictures."""
        return self.self_attention.weights(self.self_attention_residual.enter(x), mask, rotation)


class EncoderStack(nn.Module):
    """All layers of the encoder, on embedded vectors."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.rotary = rotary_positions(config)
        layers = (EncoderLayer(config) for _ in range(config.encoder_layers))
        self.layers: Sequence[EncoderLayer] = nn.ModuleList(layers)  # type: ignore[assignment]  # it has no item type
        self.norm = final_norm(config.d_model, config.norm)

    def forward(
        self,
        x: Tensor,
        position: Tensor,
        mask: Tensor,
        weights: list[Tensor] | None = None,
    ) -> Tensor:
        """Return the memory (R, S, D), which the decoder attends to.

        Args:
            x: (R, S, D) embedded source.
            position: (R, S) int64, the index of each token in its sentence.
            mask: bool, broadcastable to (R, H, S, S), True = may attend.
            weights: if given, the attention weights (R, H, S, S) of each layer are appended to it.
        """
        rotation = None if self.rotary is None else self.rotary(position)
        for layer in self.layers:
            if weights is not None:
                weights.append(layer.attention_weights(x, mask, rotation))
            x = layer(x, mask, rotation)
        y: Tensor = self.norm(x)
        return y
