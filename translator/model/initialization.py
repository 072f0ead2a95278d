"""Initial weights of the Transformer, for both norm orders."""

import math

import torch
from torch import nn

from translator.model.decoder import DecoderStack
from translator.model.embedding import PositionEncoding
from translator.model.encoder import EncoderStack
from translator.model.layers import FusedLinear
from translator.special_tokens import PAD

_SUBLAYERS = {EncoderStack: 2, DecoderStack: 3}  # residual sums in one layer of each stack


@torch.no_grad()
def init_weights(model: nn.Module) -> None:
    """Initialize the embeddings, positions and stacks inside `model` from torch's random generator.

    Embeddings: normal with standard deviation D^-½. The product of a normalized state (length √D) with a row of a tied
    head (length 1) then has variance 1. So the first loss of an untied head is about log V + ½; a tied head adds about
    2, since the residual stream still holds the input token, which therefore gets a high logit. As an embedding, such a
    row is √D times too short compared with the positions, whose entries are of order 1. Hence the factor √D in
    `Embedding` (Vaswani et al. 2017 §3.4). Both together make tying possible.

    Learned positions: normal with deviation 1/√2, the root mean square of the sinusoids that they replace.

    Biases start at 0, LayerNorm at the identity, and the row of PAD at 0; training changes that row in a tied head.
    """
    for module in model.modules():
        if isinstance(module, EncoderStack | DecoderStack):
            _init_stack(module)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
            module.weight[PAD].zero_()
        elif isinstance(module, PositionEncoding) and isinstance(module.table, nn.Parameter):
            nn.init.normal_(module.table, std=math.sqrt(0.5))


def _init_stack(stack: EncoderStack | DecoderStack) -> None:
    """Initialize the projections of a stack.

    Xavier uniform (Glorot and Bengio 2010), each block of a fused projection as a separate matrix. The last projection
    of each sublayer is scaled by 1/√n, with n sublayers in the stack. Pre-norm: the sum of n sublayers then has the
    variance of one (Radford et al. 2019 §2.3). Post-norm: LayerNorm(x + f(x)) shrinks the gradient on the residual
    path by √(1 + var f). With var f = 1/n, n layers shrink it by at most √e; with var f = 1, by 2^(n/2) (Zhang et al.
    2019 §3, Xiong et al. 2020 §3).
    """
    sublayers = _SUBLAYERS[type(stack)] * len(stack.layers)
    for name, linear in stack.named_modules():
        if not isinstance(linear, nn.Linear):
            continue
        # The last projection of a sublayer adds to the residual sum.
        gain = 1.0
        if name.endswith((".output", ".outer")):
            gain = 1.0 / math.sqrt(sublayers)
        # Each matrix of a fused projection has its own bounds.
        blocks = 1
        if isinstance(linear, FusedLinear):
            blocks = linear.blocks
        for block in linear.weight.chunk(blocks, dim=0):
            nn.init.xavier_uniform_(block, gain)
        nn.init.zeros_(linear.bias)
