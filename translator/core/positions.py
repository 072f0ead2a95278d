"""Positions: sinusoidal or learned vectors that are added to embeddings, or rotary angles in self-attention.

R rows, L positions of a row, D model width, H heads, K head width, P maximum number of positions
"""

import math
from typing import Literal, assert_never

import torch
import torch.nn.functional as F
from torch import Tensor, nn

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
    """Scales the vectors of tokens by √D, adds those of positions, applies dropout (Vaswani et al. 2017 §3.4, §5.4).

    The vectors of positions are fixed or learned. There are none with `rotary`, where attention encodes positions.
    """

    table: Tensor | None  # (P, D)

    def __init__(self, d_model: int, max_positions: int, kind: Positions, dropout: float = 0.0) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model)  # explained in `init_weights` of transformer.py
        self.dropout = nn.Dropout(dropout)
        if kind == "learned":
            self.table = nn.Parameter(torch.empty(max_positions, d_model))
        elif kind == "sinusoidal":
            self.register_buffer("table", sinusoidal_positions(max_positions, d_model), persistent=False)
        elif kind == "rotary":
            self.register_buffer("table", None)
        else:
            assert_never(kind)

    def forward(self, x: Tensor, position: Tensor) -> Tensor:
        """Return (R, L, D) for the vectors of tokens `x` (R, L, D) at `position` (R, L) int64, each below P."""
        x = x * self.scale
        if self.table is not None:
            x = x + F.embedding(position, self.table)
        if x.is_cuda and torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.bfloat16:
            # The residual stream of a GPU is bfloat16: in float32 the element-wise kernels take a tenth of an update.
            x = x.bfloat16()
        y: Tensor = self.dropout(x)
        return y


class RotaryPositions(nn.Module):
    """What self-attention knows of positions: with `rotary`, the rotations of Su et al. 2021 §3.2.2; else nothing.

    Columns 2i and 2i + 1 of a head are a point in a plane, rotated at position p by the angle p · 10000^(-2i / K). So
    the dot product of a query at p and a key at q depends on the positions only through p - q.

    The table is not saved. It stays float32 under autocast; `.to(torch.bfloat16)` of the whole model would round it.
    """

    table: Tensor | None  # (P, K): cosine and sine of each angle, side by side

    def __init__(self, width: int, max_positions: int, kind: Positions = "rotary") -> None:
        super().__init__()
        table = None
        if kind == "rotary":
            sines_cosines = sinusoidal_positions(max_positions, width).view(max_positions, -1, 2)
            table = sines_cosines.flip(-1).flatten(1)
        self.register_buffer("table", table, persistent=False)

    def forward(self, position: Tensor) -> Tensor | None:
        """Return the rotation (R, 1, L, K/2, 2), cosines and sines, of `position` (R, L) int64, for `rotate`."""
        if self.table is None:
            return None
        rows, length = position.shape
        return F.embedding(position, self.table).view(rows, 1, length, -1, 2)


def rotate(x: Tensor, rotation: Tensor | None) -> Tensor:
    """Return `x` (R, H, L, K) turned by `rotation` (R, 1, L, K/2, 2) of `RotaryPositions`; `x` itself without one.

    It is computed in at least float32, and the result is contiguous.

    >>> rotations = RotaryPositions(width=2, max_positions=4)
    >>> rotate(torch.tensor([[[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]]]), rotations(torch.tensor([[0, 1, 2]])))[0, 0]
    tensor([[ 1.0000,  0.0000],
            [ 0.5403,  0.8415],
            [-0.9093, -0.4161]])
    """
    if rotation is None:
        return x
    exact_type = torch.promote_types(x.dtype, torch.float32)
    points = x.to(exact_type).view(*x.shape[:-1], -1, 2)  # adjacent columns are points (first, second) in a plane
    first, second = points.unbind(-1)
    cosines, sines = rotation.unbind(-1)
    turned_first = first * cosines - second * sines
    turned_second = first * sines + second * cosines
    return torch.stack((turned_first, turned_second), dim=-1).flatten(-2).to(x.dtype)
