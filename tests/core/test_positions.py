"""Embeddings and the three kinds of positions."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from translator.core.layers import NetworkSettings
from translator.core.positions import Positions, RotaryPositions, rotate, sinusoidal_positions
from translator.core.transformer import Embedding

POSITIONS = 24


def settings_of(positions: Positions) -> NetworkSettings:
    return NetworkSettings(
        d_model=16, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=32, positions=positions, max_positions=9
    )


def test_sinusoidal_positions_match_the_formula_of_the_paper() -> None:
    table = sinusoidal_positions(50, 8)
    for position, i in itertools.product((0, 1, 17, 49), range(4)):
        angle = position / 10_000 ** (2 * i / 8)
        assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
        assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_tokens_are_scaled_and_positions_are_not() -> None:
    embedding = Embedding(10, settings_of("sinusoidal"))
    out = embedding(torch.tensor([[4, 5, 4]]), torch.tensor([[0, 1, 2]]))
    expected = 4.0 * embedding.tokens.weight[[4, 5, 4]] + sinusoidal_positions(9, 16)[:3]
    torch.testing.assert_close(out[0], expected)


def rotated_by_position(x: Tensor, width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """`x` (R, H, L, K) turned for the positions 0 to L - 1."""
    rotations = RotaryPositions(width, POSITIONS).to(dtype)
    position = torch.arange(x.size(2)).expand(x.size(0), -1)
    return rotate(x, rotations(position))


def test_each_pair_of_columns_is_rotated_by_its_own_angle() -> None:
    x = torch.randn(3, 2, POSITIONS, 6)
    rotated = rotated_by_position(x, 6)
    for pair, position in itertools.product(range(3), range(POSITIONS)):
        angle = position * 10_000.0 ** (-2 * pair / 6)
        # A pair of columns is the complex number a + b i, multiplied by e^(i · angle).
        columns = slice(2 * pair, 2 * pair + 2)
        a, b = x[..., position, columns].unbind(-1)
        expected = torch.stack(
            (
                a * math.cos(angle) - b * math.sin(angle),
                a * math.sin(angle) + b * math.cos(angle),
            ),
            dim=-1,
        )
        torch.testing.assert_close(rotated[..., position, columns], expected, rtol=1e-5, atol=1e-5)
