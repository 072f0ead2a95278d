"""The moving average against its formula."""

import pytest
import torch

from translator.config import ModelConfig
from translator.core.transformer import Transformer
from translator.training.moving_average import MovingAverage

VOCABULARY = 20
SIZES = ModelConfig(
    d_model=16, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=16, max_positions=16, tied_embeddings="all"
)


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(0)
    return Transformer(SIZES.settings, VOCABULARY, VOCABULARY)


@torch.no_grad()
def test_the_moving_average_follows_its_formula(model: Transformer) -> None:
    average = MovingAverage(model, 0.9)
    expected = model.head_weight.clone()
    for number in range(1, 101):
        model.head_weight.add_(torch.randn(VOCABULARY, SIZES.d_model))
        average.update(model)
        decay = min(0.9, number / (9 + number))
        expected.lerp_(model.head_weight, 1 - decay)
        torch.testing.assert_close(average.model.head_weight.data, expected, rtol=1e-4, atol=1e-5)


def test_the_moving_average_keeps_tied_weights_tied(model: Transformer) -> None:
    average = MovingAverage(model, 0.9)
    average.update(model)
    assert average.model.state_dict().keys() == model.state_dict().keys()
    assert average.model.head_weight is average.model.source_embedding.tokens.weight
