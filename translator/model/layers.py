"""Position-wise layers: fused projections, feed-forward sublayer, residual connection.

D model width, F feed-forward width
"""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from translator.model.dropout import Dropout

Activation = Literal["relu", "gelu", "swiglu"]
NormOrder = Literal["pre", "post"]


class FusedLinear(nn.Linear):
    """Several projections of one input as one product; its weight stacks `blocks` matrices vertically."""

    def __init__(
        self,
        width: int,
        block_width: int,
        blocks: int,
    ) -> None:
        super().__init__(width, blocks * block_width)
        self.blocks = blocks


class FeedForward(nn.Module):
    """The position-wise feed-forward sublayer (Vaswani et al. 2017 §3.3): D → F, activation, F → D.

    The activation is `relu` as in the paper, `gelu` (Hendrycks and Gimpel 2016), or `swiglu` (Shazeer 2020), which
    multiplies the widened vector by a gate; one fused projection of width 2F computes both. Then dropout is applied.
    """

    def __init__(
        self,
        d_model: int,
        width: int,
        activation: Activation,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.inner = FusedLinear(d_model, width, blocks=2 if activation == "swiglu" else 1)
        self.dropout = Dropout(dropout)
        self.outer = nn.Linear(width, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., D) for `x` (..., D)."""
        hidden = self.inner(x)  # (..., F), or (..., 2F) with a gate
        if self.activation == "swiglu":
            gate, value = hidden.chunk(2, dim=-1)
            hidden = F.silu(gate) * value
        elif self.activation == "gelu":
            hidden = F.gelu(hidden)
        else:
            hidden = F.relu(hidden)
        y: Tensor = self.outer(self.dropout(hidden))
        return y


class Residual(nn.Module):
    """The residual connection around a sublayer, with LayerNorm and dropout (Vaswani et al. 2017 §3.1, §5.4).

    post:  LayerNorm(x + dropout(sublayer(x)))     the paper's order
    pre:   x + dropout(sublayer(LayerNorm(x)))     Xiong et al. 2020; the stack ends in a final LayerNorm

    A layer computes `y = sublayer(residual.enter(x))`, then `residual.leave(x, y)`.
    """

    def __init__(
        self,
        d_model: int,
        dropout: float,
        order: NormOrder,
    ) -> None:
        super().__init__()
        self.order = order
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)

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


def final_norm(d_model: int, order: NormOrder) -> nn.Module:
    """Return the last layer of a stack: LayerNorm for pre-norm, whose residual sum is not normalized, else identity."""
    if order == "pre":
        return nn.LayerNorm(d_model)
    return nn.Identity()
