"""Embeddings and the three kinds of positions."""

import math

import pytest
import torch

from translator.config import ModelConfig
from translator.model.embedding import Embedding, RotaryPositions, sinusoidal_positions

POSITIONS = 24


def test_sinusoidal_positions_match_the_formula_of_the_paper() -> None:
    table = sinusoidal_positions(50, 8)
    for position in (0, 1, 17, 49):
        for i in range(4):
            angle = position / 10_000 ** (2 * i / 8)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_tokens_are_scaled_and_positions_are_not() -> None:
    embedding = Embedding(10, ModelConfig(d_model=16, heads=2, dropout=0.0, max_positions=9))
    out = embedding(torch.tensor([[4, 5, 4]]))
    expected = 4.0 * embedding.tokens.weight[[4, 5, 4]] + sinusoidal_positions(9, 16)[:3]
    torch.testing.assert_close(out[0], expected)


def test_each_pair_of_columns_is_rotated_by_its_own_angle() -> None:
    x = torch.randn(3, 2, POSITIONS, 6)
    rotated = RotaryPositions(6, POSITIONS)(x)
    for pair in range(3):
        for position in range(POSITIONS):
            angle = position * 10_000.0 ** (-2 * pair / 6)
            a, b = x[..., position, 2 * pair], x[..., position, 2 * pair + 1]
            found = rotated[..., position, 2 * pair : 2 * pair + 2]
            expected = (a * math.cos(angle) - b * math.sin(angle), a * math.sin(angle) + b * math.cos(angle))
            torch.testing.assert_close(found, torch.stack(expected, dim=-1), rtol=1e-5, atol=1e-5)


def test_gradient_of_rotary_positions_matches_finite_differences() -> None:
    rotary = RotaryPositions(4, POSITIONS).double()
    assert torch.autograd.gradcheck(rotary, torch.randn(2, 5, 4, dtype=torch.double, requires_grad=True))


def test_rotary_positions_compile_to_one_graph_with_the_same_results() -> None:
    x = torch.linspace(-2, 2, 3 * POSITIONS * 8).view(3, POSITIONS, 8).requires_grad_()
    rotary = RotaryPositions(8, POSITIONS)
    compiled = torch.compile(rotary, backend="aot_eager", fullgraph=True)
    outcomes = []
    for function in (rotary, compiled):
        (gradient,) = torch.autograd.grad((function(x) * torch.linspace(0, 1, 8)).sum(), x)
        outcomes.append((function(x), gradient))
    torch.testing.assert_close(*outcomes)
