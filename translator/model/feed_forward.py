"""The position-wise feed-forward sublayer (Vaswani et al. 2017 §3.3).

D model width, F feed-forward width
"""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from translator.model.dropout import Dropout

Activation = Literal["relu", "gelu", "swiglu"]


class FeedForward(nn.Module):
    """Widens each position to F, bends it, and narrows it to D again.

    `relu` is the paper's; `gelu` is Hendrycks and Gimpel 2016; `swiglu` (Shazeer 2020) multiplies the widened vector by
    a gate, which a fused projection of width 2F computes beside it.

    Args:
        d_model: D.
        width: F.
        activation: what bends.
        dropout: after the activation.
    """

    def __init__(self, d_model: int, width: int, activation: Activation, dropout: float = 0.0) -> None:
        super().__init__()
        self.activation = activation
        self.inner = nn.Linear(d_model, 2 * width if activation == "swiglu" else width)
        self.dropout = Dropout(dropout)
        self.outer = nn.Linear(width, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., D) for `x` (..., D)."""
        hidden: Tensor = self.inner(x)  # (..., F), or (..., 2F) with a gate
        if self.activation == "swiglu":
            gate, value = hidden.chunk(2, dim=-1)
            hidden = F.silu(gate) * value
        elif self.activation == "gelu":
            hidden = F.gelu(hidden)
        else:
            hidden = F.relu(hidden)
        y: Tensor = self.outer(self.dropout(hidden))
        return y
