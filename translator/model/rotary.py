"""Rotary positions (Su et al. 2021): attention sees how far apart two tokens are, and nothing is added to either.

B batch, T length, H heads, K head width, P positions
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from translator.config import ModelConfig
from translator.model.embedding import sinusoidal_positions


class RotaryPositions(nn.Module):
    """Turns queries and keys of self-attention by angles that grow with their position (Su et al. 2021 §3.2.2).

    Columns 2i and 2i + 1 of a head are a point in a plane, which position p turns by p · 10000^(-2i / K). The product
    of a query at p and a key at q then depends on p - q alone.

    Args:
        width: K, even.
        max_positions: P, longest sequence.
    """

    cosines_sines: Tensor

    def __init__(self, width: int, max_positions: int) -> None:
        super().__init__()
        sines_cosines = sinusoidal_positions(max_positions, width).view(max_positions, -1, 2)  # of the very same angles
        self.register_buffer("cosines_sines", sines_cosines.flip(-1).contiguous(), persistent=False)  # (P, K/2, 2)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Return `x` (..., T, K), turned as at the positions `start` to `start + T - 1`; contiguous.

        >>> RotaryPositions(width=2, max_positions=4)(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
        tensor([[ 1.0000,  0.0000],
                [ 0.5403,  0.8415],
                [-0.9093, -0.4161]])
        """
        turned: Tensor = _Turn.apply(x, self.cosines_sines[start : start + x.size(-2)])  # type: ignore[no-untyped-call]
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
        return _turned(x, cosines_sines)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (cosines_sines,) = ctx.saved_tensors
        return _turned(gradient, cosines_sines * cosines_sines.new_tensor([1.0, -1.0])), None


def _turned(x: Tensor, cosines_sines: Tensor) -> Tensor:
    """Multiply pairs of columns as complex numbers, which a CPU does faster than cosines and sines apart.

    Args:
        x: (..., T, K).
        cosines_sines: (T, K/2, 2).
    """
    dtype = torch.promote_types(x.dtype, torch.float32)  # there are no complex numbers of two times bfloat16
    y = torch.empty(x.shape, dtype=dtype, device=x.device).copy_(x)
    torch.view_as_complex(y.view(*y.shape[:-1], -1, 2)).mul_(torch.view_as_complex(cosines_sines.to(dtype)))
    return y.to(x.dtype)
