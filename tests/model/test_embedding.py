"""Embedding and positions."""

import math

import pytest
import torch

from translator.config import ModelConfig
from translator.errors import InputError
from translator.model.embedding import Embedding, PositionEncoding, sinusoidal_positions


def test_sinusoids_are_the_formula_of_the_paper() -> None:
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


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_a_start_shifts_the_positions(kind: str) -> None:
    config = ModelConfig.model_validate({"d_model": 16, "heads": 2, "positions": kind, "max_positions": 9})
    embedding = Embedding(10, config).eval()
    assert embedding.positions.table is not None
    torch.nn.init.normal_(embedding.positions.table)
    tokens = torch.tensor([[4, 5, 6, 7]])
    torch.testing.assert_close(embedding(tokens[:, 2:], 2), embedding(tokens)[:, 2:])


def test_only_learned_positions_are_weights() -> None:
    assert [name for name, _ in PositionEncoding(8, 5, "learned").named_parameters()] == ["table"]
    assert not PositionEncoding(8, 5, "sinusoidal").state_dict()


def test_dropout_in_training_only() -> None:
    embedding = Embedding(10, ModelConfig(d_model=64, heads=2, dropout=0.5))
    tokens = torch.tensor([[4, 5, 6]])
    assert (embedding(tokens) == 0).any()
    assert torch.equal(embedding.eval()(tokens), embedding(tokens))


def test_too_long_an_input_is_explained_with_both_lengths() -> None:
    positions = PositionEncoding(8, 5, "sinusoidal")
    assert positions(torch.zeros(1, 5, 8)).shape == (1, 5, 8)
    with pytest.raises(InputError, match=r"7 tokens is longer than the 5 positions.*model\.max_positions"):
        positions(torch.zeros(1, 7, 8))
    with pytest.raises(InputError, match="6 tokens is longer than the 5"):
        positions(torch.zeros(1, 1, 8), start=5)
