"""The norms of each block of a model."""

import pytest
import torch

from tests.support.small_model import small_model
from translator.training.block_norms import block_norms

LAYERS = {"encoder.layers.0", "encoder.layers.1", "decoder.layers.0", "decoder.layers.1"}


def test_each_layer_final_norm_and_table_is_a_block() -> None:
    blocks = set(block_norms(small_model(tied_embeddings="none"), gradients=False))
    assert blocks == LAYERS | {"encoder.norm", "decoder.norm", "source_embedding", "target_embedding", "head"}


def test_the_norm_of_a_block_covers_all_its_weights() -> None:
    model = small_model()
    weights = torch.cat([weight.flatten() for weight in model.decoder.layers[0].parameters()])
    norm = block_norms(model, gradients=False)["decoder.layers.0"]
    assert norm.item() == pytest.approx(weights.norm().item(), rel=1e-5)


def test_a_gradient_norm_is_that_of_the_gradients() -> None:
    model = small_model()
    weight = model.source_embedding.tokens.weight
    weight.grad = torch.full_like(weight, 2.0)
    norm = block_norms(model, gradients=True)["source_embedding"]
    assert norm.item() == pytest.approx(2.0 * weight.numel() ** 0.5)


def test_a_missing_gradient_counts_as_zero() -> None:
    assert block_norms(small_model(), gradients=True)["encoder.layers.1"].item() == 0.0
