"""The frame around every sublayer: residual sum, dropout and LayerNorm (Vaswani et al. 2017 §3.1, §5.4).

B batch, T length, D model width
"""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from translator.model.dropout import Dropout

NormOrder = Literal["pre", "post"]


class Residual(nn.Module):
    """Adds the output of a sublayer on `x` to `x`.

        post:  LayerNorm(x + dropout(sublayer(x)))     the paper's order
        pre:   x + dropout(sublayer(LayerNorm(x)))     Xiong et al. 2020; the stack ends in a LayerNorm of its own

    Args:
        d_model: D.
        dropout: on the sublayer's output.
        order: where the LayerNorm stands.
    """

    def __init__(self, d_model: int, dropout: float, order: NormOrder) -> None:
        super().__init__()
        self.order = order
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return (B, T, D) for `x` (B, T, D)."""
        y: Tensor
        if self.order == "pre":
            y = x + self.dropout(sublayer(self.norm(x)))
        else:
            y = self.norm(x + self.dropout(sublayer(x)))
        return y


def final_norm(d_model: int, order: NormOrder) -> nn.Module:
    """Return what ends a stack: pre-norm leaves the residual sum unnormalised, post-norm does not."""
    return nn.LayerNorm(d_model) if order == "pre" else nn.Identity()
