"""The position-wise feed-forward sublayer (Vaswani et al. 2017 §3.3).

D model width, F feed-forward width
"""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from translator.model.dropout import Dropout
from translator.model.fused_linear import FusedLinear

Activation = Literal["relu", "gelu", "swiglu"]


class FeedForward(nn.Module):
    """Widens each position to F, applies a nonlinearity, and narrows it to D again.

    `relu` is the paper's; `gelu` is Hendrycks and Gimpel 2016; `swiglu` (Shazeer 2020) multiplies the widened vector by
    a gate, which a fused projection of width 2F computes beside it.

    Args:
        d_model: D.
        width: F.
        activation: the nonlinearity.
        dropout: after the activation.
    """

    def __init__(self, d_model: int, width: int, activation: Activation, dropout: float = 0.0) -> None:
        super().__init__()
        self.activation = activation
        self.inner = FusedLinear(d_model, width, blocks=2 if activation == "swiglu" else 1)
        self.dropout = Dropout(dropout)
        self.outer = nn.Linear(width, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., D) for `x` (..., D)."""
        y: Tensor = self.outer(self.dropout(activate(self.inner(x), self.activation)))
        return y


def activate(hidden: Tensor, activation: Activation) -> Tensor:
    """Return (..., F) for `hidden`, (..., F) or, with a gate, (..., 2F)."""
    if activation == "swiglu":
        gate, value = hidden.chunk(2, dim=-1)
        return F.silu(gate) * value
    return F.gelu(hidden) if activation == "gelu" else F.relu(hidden)
