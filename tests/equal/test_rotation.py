"""The rotation by a complex product equals the rotation of the core."""

import pytest
import torch
from torch import Tensor

from translator.core.positions import RotaryPositions, Rotation, rotate
from translator.speed.rotation import complex_rotate


def turned_and_gradient(turn: Rotation, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Turn the queries (2, 3, 5, 8) that a fused projection has beside its keys and values."""
    generator = torch.Generator().manual_seed(1)
    projected = torch.randn(2, 5, 3 * 3 * 8, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
    weights = torch.randn(2, 3, 5, 8, generator=generator, dtype=torch.float64).to(dtype)
    query, _, _ = projected.view(2, 5, 9, 8).transpose(1, 2).chunk(3, dim=1)
    rotation = RotaryPositions(width=8, max_positions=9)(torch.tensor([[0, 1, 2, 0, 1], [4, 5, 6, 7, 8]]))
    turned = turn(query, rotation)
    (gradient,) = torch.autograd.grad((turned * weights).sum(), projected)
    return turned.detach(), gradient


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_both_forms_turn_values_and_gradients_alike(dtype: torch.dtype) -> None:
    turned, gradient = turned_and_gradient(complex_rotate, dtype)
    plainly_turned, plain_gradient = turned_and_gradient(rotate, dtype)
    assert turned.dtype == dtype
    tolerance = 1e-2 if dtype == torch.bfloat16 else 1e-6  # angles are float32
    torch.testing.assert_close(turned, plainly_turned, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(gradient, plain_gradient, rtol=tolerance, atol=tolerance)
    assert gradient.abs().max() > 0


def test_without_a_rotation_queries_stay_as_they_are() -> None:
    query = torch.ones(1, 2, 3, 4)
    assert complex_rotate(query, None) is query
