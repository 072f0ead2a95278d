"""A real model that is quick to search."""

import pytest
import torch

from translator.config import ModelConfig
from translator.model import Transformer
from translator.special_tokens import EOS

VOCABULARY = 24


@pytest.fixture(scope="session")
def model() -> Transformer:
    """Random weights, strong enough that sentences differ, with EOS made likelier so that rows end here and there."""
    torch.manual_seed(5)
    config = ModelConfig(
        d_model=32,
        heads=4,
        encoder_layers=2,
        decoder_layers=2,
        feed_forward=64,
        tied_embeddings="none",
        max_positions=48,
    )
    model = Transformer(config, VOCABULARY, VOCABULARY)
    assert model.own_head is not None
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.25 * torch.randn_like(weight))
        model.own_head.weight[EOS] += 0.3 * model.own_head.weight[5:].mean(0) + 0.2
    return model.eval()
