"""Rotary positions (Su et al. 2021): attention sees how far apart two tokens are, and nothing is added to either.

T length, K head width, P positions
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from translator.config import ModelConfig
from translator.model.embedding import sinusoidal_positions


class RotaryPositions(nn.Module):
    """Turns queries and keys of self-attention by angles that grow with their position (Su et al. 2021 §3.2.2).

    Columns 2i and 2i + 1 of a head are a point in a plane, which position p turns by p · 10000^(-2i / K). Of two
    positions p and q, all that the product of a query at p and a key at q then knows is p - q.

    The table is no weight and is not saved; it is float32, and stays so where autocast makes the rest bf16, but a
    `.to(torch.bfloat16)` of the whole model would round it.

    Args:
        width: K, even.
        max_positions: P, longest sequence; `PositionEncoding` sees to it that none is longer.
    """

    cosines_sines: Tensor

    def __init__(self, width: int, max_positions: int) -> None:
        super().__init__()
        assert width % 2 == 0, "the columns of a head are turned in pairs"
        sines_cosines = sinusoidal_positions(max_positions, width).view(max_positions, -1, 2)  # of the very same angles
        self.register_buffer("cosines_sines", sines_cosines.flip(-1).contiguous(), persistent=False)  # (P, K/2, 2)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Return `x` (..., T, K), turned as at the positions `start` to `start + T - 1`; contiguous.

        >>> RotaryPositions(width=2, max_positions=4)(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
        tensor([[ 1.0000,  0.0000],
                [ 0.5403,  0.8415],
                [-0.9093, -0.4161]])
        """
        end = start + x.size(-2)
        assert end <= self.cosines_sines.size(0), "no positions beyond the table"
        turned: Tensor = _Turn.apply(x, self.cosines_sines[start:end])  # type: ignore[no-untyped-call]
        return turned


def rotary_positions(config: ModelConfig) -> RotaryPositions | None:
    """Return what all layers of a stack turn by, where `config` has such positions."""
    if config.positions != "rotary":
        return None
    return RotaryPositions(config.d_model // config.heads, config.max_positions)


class _Turn(torch.autograd.Function):
    """What was turned by an angle has a gradient that is turned back by it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cosines_sines: Tensor) -> Tensor:
        ctx.save_for_backward(cosines_sines)
        return _turned(x, *cosines_sines.unbind(-1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (cosines_sines,) = ctx.saved_tensors
        cosines, sines = cosines_sines.unbind(-1)
        return _turned(gradient, cosines, -sines), None


def _turned(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Return (..., T, K) for `x` (..., T, K), cosines and sines (T, K/2), computed in float32 at least."""
    y = x.to(torch.promote_types(x.dtype, torch.float32), memory_format=torch.contiguous_format, copy=True)
    pairs = y.view(*y.shape[:-1], -1, 2)
    if x.device.type == "cpu" and not torch.compiler.is_compiling():
        # As complex numbers a CPU multiplies neighbours in a third of the time; a compiler does not know them.
        torch.view_as_complex(pairs).mul_(torch.complex(cosines, sines))
        return y.to(x.dtype)
    first, second = pairs.unbind(-1)
    turned = torch.stack((first * cosines - second * sines, first * sines + second * cosines), dim=-1)
    return turned.flatten(-2).to(x.dtype)
