"""The rotation of rotary positions by one complex product; equals `rotate` of `core/positions.py` (read it first).

It is for training without a compiler: torch.compile and Apple's GPUs do not support complex numbers. On a CPU, forward
and backward of queries and keys take half of the time, which is a twentieth of an update (docs/results.md).
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from translator.core.attention import SelfAttention
from translator.core.transformer import Transformer


def complex_rotate(x: Tensor, rotation: Tensor | None) -> Tensor:
    """Return `x` (R, H, L, K) turned by `rotation` (R, 1, L, K/2, 2); `x` itself without one.

    tests/equal/test_rotation.py compares both.
    """
    if rotation is None:
        return x
    y: Tensor = _Rotation.apply(x, rotation)  # type: ignore[no-untyped-call]
    return y


class _Rotation(torch.autograd.Function):
    """The gradient of a rotation is the rotation by the opposite angle of the incoming gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rotation: Tensor) -> Tensor:
        ctx.save_for_backward(rotation)
        return _turned(x, torch.view_as_complex(rotation))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (rotation,) = ctx.saved_tensors
        return _turned(gradient, torch.view_as_complex(rotation).conj()), None


def _turned(x: Tensor, rotation: Tensor) -> Tensor:
    """Return `x` (R, H, L, K) times the complex `rotation` (R, 1, L, K/2): columns 2i and 2i + 1 are one number."""
    exact_type = torch.promote_types(x.dtype, torch.float32)
    # A copy, which the product overwrites.
    y = x.to(exact_type, memory_format=torch.contiguous_format, copy=True)
    torch.view_as_complex(y.view(*y.shape[:-1], -1, 2)).mul_(rotation)
    return y.to(x.dtype)


def use_complex_rotation(model: Transformer) -> None:
    """Let all layers of `model` rotate in this way."""
    for module in model.modules():
        if isinstance(module, SelfAttention):
            module.rotate = complex_rotate
