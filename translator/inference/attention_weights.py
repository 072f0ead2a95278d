"""The attention weights of a model, recorded while it computes.

R rows, S source positions, T target positions, H heads
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from translator.core.attention import AttentionKernel, attention, attention_weights
from translator.core.transformer import Transformer


class AttentionWeights(NamedTuple):
    """The attention weights of a model: one tensor per layer, in the order of the layers."""

    encoder: Sequence[Tensor]  # (R, H, S, S) each: from source to source positions
    decoder: Sequence[Tensor]  # (R, H, T, T) each: from target to target positions
    cross: Sequence[Tensor]  # (R, H, T, S) each: from target to source positions


@torch.no_grad()
def weights_of_layers(model: Transformer, source: Tensor, target_input: Tensor) -> AttentionWeights:
    """Return the attention weights of every layer of `model`; arguments as in `Transformer.forward`."""
    # A kernel that records takes the place of the model's for one pass.
    kernel = model.encoder.layers[0].self_attention.kernel
    weights: list[Tensor] = []
    model.use_attention(recording(weights))
    try:
        model.states_of_pairs(source, target_input)
    finally:
        model.use_attention(kernel)

    # It saw self-attention in each layer of the encoder; then, in each of the decoder, self-attention and cross.
    of_encoder = len(model.encoder.layers)
    of_decoder = weights[of_encoder:]
    return AttentionWeights(encoder=weights[:of_encoder], decoder=of_decoder[0::2], cross=of_decoder[1::2])


def recording(weights: list[Tensor]) -> AttentionKernel:
    """Return a kernel like `attention` that also appends the weights (R, H, T, S) of each call to `weights`."""

    def attention_and_weights(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
        weights.append(attention_weights(query, key, mask))
        return attention(query, key, value, mask, dropout)

    return attention_and_weights
