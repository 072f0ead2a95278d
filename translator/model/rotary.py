"""Rotary positions (Su et al. 2021): queries and keys of self-attention turn by angles that grow with the position.

R rows, L positions of a row, H heads, K head width, P maximum number of positions
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from translator.config import ModelConfig
from translator.model.embedding import sinusoidal_positions


class RotaryPositions(nn.Module):
    """The rotations of all positions (Su et al. 2021 §3.2.2).

    Columns 2i and 2i + 1 of a head are a point in a plane, rotated at position p by the angle p · 10000^(-2i / K). So
    the dot product of a query at p and a key at q depends on the positions only through p - q.

    The table is not saved. It stays float32 under autocast; `.to(torch.bfloat16)` of the whole model would round it.
    """

    table: Tensor  # (P, K): cosine and sine of each angle, side by side

    def __init__(self, width: int, max_positions: int) -> None:
        super().__init__()
        sines_cosines = sinusoidal_positions(max_positions, width).view(max_positions, -1, 2)
        self.register_buffer("table", sines_cosines.flip(-1).flatten(1), persistent=False)

    def forward(self, position: Tensor) -> Tensor:
        """Return the rotation (R, 1, L, K/2, 2), cosines and sines, of `position` (R, L) int64, for `rotate`."""
        rows, length = position.shape
        return F.embedding(position, self.table).view(rows, 1, length, -1, 2)


def rotary_positions(config: ModelConfig) -> RotaryPositions | None:
    """Return the rotations that all layers of a stack share; None if `config` uses other position encodings."""
    if config.positions != "rotary":
        return None
    return RotaryPositions(config.d_model // config.heads, config.max_positions)


def rotate(x: Tensor, rotation: Tensor) -> Tensor:
    """Return `x` (R, H, L, K) turned by `rotation` (R, 1, L, K/2, 2) of `RotaryPositions`; the result is contiguous.

    >>> rotations = RotaryPositions(width=2, max_positions=4)
    >>> rotate(torch.tensor([[[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]]]), rotations(torch.tensor([[0, 1, 2]])))[0, 0]
    tensor([[ 1.0000,  0.0000],
            [ 0.5403,  0.8415],
            [-0.9093, -0.4161]])
    """
    y: Tensor = _Rotation.apply(x, rotation)  # type: ignore[no-untyped-call]
    return y


class _Rotation(torch.autograd.Function):
    """A rotation, whose gradient is the inverse rotation of the incoming gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rotation: Tensor) -> Tensor:
        ctx.save_for_backward(rotation)
        cosines, sines = rotation.unbind(-1)
        return _rotated(x, cosines, sines)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (rotation,) = ctx.saved_tensors
        cosines, sines = rotation.unbind(-1)
        return _rotated(gradient, cosines, -sines), None


def _rotated(
    x: Tensor,
    cosines: Tensor,
    sines: Tensor,
) -> Tensor:
    """Return (..., L, K) for `x` (..., L, K), cosines and sines (..., L, K/2), computed in at least float32."""
    exact_type = torch.promote_types(x.dtype, torch.float32)
    y = x.to(exact_type, memory_format=torch.contiguous_format, copy=True)
    pairs = y.view(*y.shape[:-1], -1, 2)  # adjacent columns are points (first, second) in a plane
    if x.device.type != "mps" and not torch.compiler.is_compiling():
        # Complex products take a third of the time on a CPU, and a quarter of the kernels on a GPU. torch.compile and
        # Apple's GPUs do not support them.
        points = torch.view_as_complex(pairs)
        points.mul_(torch.complex(cosines, sines))
        return y.to(x.dtype)
    first, second = pairs.unbind(-1)
    turned_first = first * cosines - second * sines
    turned_second = first * sines + second * cosines
    turned = torch.stack((turned_first, turned_second), dim=-1)
    return turned.flatten(-2).to(x.dtype)
