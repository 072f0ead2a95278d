"""Token embeddings and the positions added to them: sinusoidal or learned.

R rows, L positions of a row, D model width, P maximum number of positions
"""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.model.dropout import Dropout
from translator.special_tokens import PAD

Positions = Literal["sinusoidal", "learned", "rotary"]


def sinusoidal_positions(length: int, d_model: int) -> Tensor:
    """Return the (length, D) table of Vaswani et al. 2017 §3.5: sines in even columns, cosines in odd ones.

    The wavelength of column pair i is 2π · 10000^(2i / D); D must be even.

    >>> sinusoidal_positions(3, 4)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)  # (length, 1)
    exponent = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model  # (D/2,)
    angle = position * torch.exp(-math.log(10_000.0) * exponent)  # (length, D/2)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()  # (length, D)


class PositionEncoding(nn.Module):
    """The vectors of positions, fixed or learned; none with `rotary`, where attention encodes positions."""

    table: Tensor | None  # (P, D)

    def __init__(
        self,
        d_model: int,
        max_positions: int,
        kind: Positions,
    ) -> None:
        super().__init__()
        if kind == "learned":
            self.table = nn.Parameter(torch.empty(max_positions, d_model))
        elif kind == "sinusoidal":
            self.register_buffer("table", sinusoidal_positions(max_positions, d_model), persistent=False)
        else:
            self.register_buffer("table", None)

    def forward(self, x: Tensor, position: Tensor) -> Tensor:
        """Return `x` (R, L, D) plus the vectors of `position` (R, L) int64, below P."""
        if self.table is None:
            return x
        return x + F.embedding(position, self.table)


class Embedding(nn.Module):
    """Looks tokens up, scales them by √D, adds positions, applies dropout (Vaswani et al. 2017 §3.4, §3.5, §5.4)."""

    def __init__(self, vocabulary: int, config: ModelConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, config.d_model, padding_idx=PAD)
        self.positions = PositionEncoding(config.d_model, config.max_positions, config.positions)
        self.dropout = Dropout(config.dropout)
        self.scale = math.sqrt(config.d_model)  # explained in `translator.model.initialization`

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:
        """Return (R, L, D) for `tokens` (R, L) int64 at `position` (R, L) int64, each below P."""
        x = self.positions(self.tokens(tokens) * self.scale, position)
        if x.is_cuda and torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.bfloat16:
            # The residual stream of a GPU is bfloat16: in float32 the element-wise kernels take a tenth of an update.
            x = x.bfloat16()
        y: Tensor = self.dropout(x)
        return y
