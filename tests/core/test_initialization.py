"""Initial values of all weights."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from translator.core import PAD
from translator.core.layers import NetworkSettings
from translator.core.transformer import Transformer

SETTINGS = NetworkSettings(d_model=128, heads=4, encoder_layers=2, decoder_layers=3, feed_forward=256)
LEARNED = {"norm": "post", "activation": "swiglu", "positions": "learned", "tied_embeddings": "none"}


def model_of(**changes: Any) -> Transformer:
    torch.manual_seed(1)
    return Transformer(replace(SETTINGS, **changes), 500, 500)


def magnitude(weight: torch.Tensor) -> float:
    """The root mean square of the numbers of a weight."""
    return weight.square().mean().sqrt().item()


def expected_magnitude(name: str) -> float:
    """That of Glorot and Bengio 2010 for a matrix, over the root of the depth for the last one of a sublayer."""
    if name.endswith("bias"):
        return 0.0
    if "norm" in name:
        return 1.0
    if name.endswith("table"):
        return math.sqrt(0.5)
    if not name.startswith(("encoder", "decoder")):
        return 1 / math.sqrt(128)
    width = 256 if "feed_forward" in name else 128
    depth = 1
    if name.endswith(("output.weight", "outer.weight")):
        depth = 2 * 2 if name.startswith("encoder") else 3 * 3  # sublayers of a layer, times layers
    return math.sqrt(2 / (128 + width) / depth)


@pytest.mark.parametrize("changes", [{}, LEARNED])
def test_every_weight_starts_with_the_magnitude_of_its_kind(changes: dict[str, str]) -> None:
    """Of a fused projection, each matrix has that of a separate one; learned positions have that of sinusoids."""
    model = model_of(**changes)
    for name, weight in model.named_parameters():
        assert magnitude(weight) == pytest.approx(expected_magnitude(name), rel=0.03), name
    for embedding in (model.source_embedding, model.target_embedding):
        assert (embedding.tokens.weight[PAD] == 0).all()
    sinusoids = model_of().source_embedding.positions.table
    assert sinusoids is not None
    assert magnitude(sinusoids) == pytest.approx(0.5**0.5, rel=1e-4)
