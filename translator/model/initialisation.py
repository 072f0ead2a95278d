"""The values that all weights start from, in one place, good for both norm orders.

Embeddings and head: normal with standard deviation D^-½, so that the product of a normalised state (length √D) with a
row of the head (length 1) has variance 1, and the first loss is little more than log V. The same rows read as an
embedding would be √D times too short beside the positions, whose entries are of order 1: hence the factor √D in
`Embedding` (Vaswani et al. 2017 §3.4). The two facts belong together, and they make tying possible. (A tied head first
favours the token just read, which the residual path carries up to it; the first updates unlearn that.)

Learned positions: normal with standard deviation 1/√2, the root mean square of the sinusoids that they stand in for.
They are added to tokens that were multiplied by √D, whose entries have deviation 1, and are not multiplied themselves.

Projections: Xavier uniform (Glorot and Bengio 2010). A fused projection counts as the matrices that it is made of: the
range comes from one D × D block, not from the stack.

The last projection of each sublayer is then scaled by 1/√n, with n the sublayers of its stack (2 per encoder layer, 3
per decoder layer). Pre-norm: the sum of n sublayers has the variance of one, whatever the depth (Radford et al. 2019
§2.3). Post-norm: LayerNorm(x + f(x)) shrinks the gradient on the residual path by √(1 + var f); n times 1/n keeps the
whole path within √e, where n times 1 would leave 2^(-n/2), the reason why deep post-norm models fail to start (Zhang et
al. 2019 §3, Xiong et al. 2020 §3).

Biases start at 0, LayerNorm at the identity, and the row of PAD at 0. Looking PAD up trains nothing, so the row stays 0
where it is only that; a tied head has an output for PAD too, which the loss teaches, and moves the row.

D model width, V vocabulary
"""

import math

import torch
from torch import nn

from translator.model.attention import CrossAttention, SelfAttention
from translator.model.decoder import DecoderStack
from translator.model.embedding import PositionEncoding
from translator.model.encoder import EncoderStack
from translator.model.feed_forward import FeedForward
from translator.model.fused_linear import FusedLinear

SUBLAYERS_PER_LAYER = {EncoderStack: 2, DecoderStack: 3}
"""Residual sums in one layer of each stack."""


@torch.no_grad()
def init_weights(model: nn.Module, head: nn.Linear | None = None) -> None:
    """Set every weight of `model`, a Transformer or a stack of its own, from torch's random generator.

    Args:
        model: what to initialise.
        head: its output head, (V, D) without bias, where that is no embedding.
    """
    if head is not None:
        nn.init.normal_(head.weight, std=head.in_features**-0.5)
    for module in model.modules():
        if isinstance(module, EncoderStack | DecoderStack):
            gain = 1.0 / math.sqrt(max(1, SUBLAYERS_PER_LAYER[type(module)] * len(module.layers)))
            for part in module.modules():
                _init_sublayer(part, gain)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
            if module.padding_idx is not None:
                module.weight[module.padding_idx].zero_()
        elif isinstance(module, PositionEncoding) and isinstance(module.table, nn.Parameter):
            nn.init.normal_(module.table, std=math.sqrt(0.5))


def _init_sublayer(module: nn.Module, gain: float) -> None:
    """Set the projections of an attention or feed-forward sublayer; `gain` is for the one that ends it."""
    if isinstance(module, SelfAttention):
        _xavier(module.query_key_value)
        _xavier(module.output, gain=gain)
    elif isinstance(module, CrossAttention):
        _xavier(module.query)
        _xavier(module.key_value)
        _xavier(module.output, gain=gain)
    elif isinstance(module, FeedForward):
        _xavier(module.inner)
        _xavier(module.outer, gain=gain)
    elif isinstance(module, nn.LayerNorm):
        module.reset_parameters()


def _xavier(linear: nn.Linear, gain: float = 1.0) -> None:
    """Xavier uniform for each of the matrices in `linear`; biases to zero."""
    for block in linear.weight.chunk(linear.blocks if isinstance(linear, FusedLinear) else 1, dim=0):
        nn.init.xavier_uniform_(block, gain=gain)
    nn.init.zeros_(linear.bias)
