"""Initial values of all weights."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from translator.core import PAD
from translator.core.layers import DecoderLayer, EncoderLayer, NetworkSettings
from translator.core.transformer import Transformer

SETTINGS = NetworkSettings(d_model=128, heads=4, encoder_layers=2, decoder_layers=3, feed_forward=256)


def model_of(**changes: Any) -> Transformer:
    torch.manual_seed(1)
    return Transformer(replace(SETTINGS, **changes), 500, 500)


def xavier_bound(width: int, other_width: int) -> float:
    """The largest weight of a matrix by Glorot and Bengio 2010."""
    return math.sqrt(6 / (width + other_width))


def largest_entry(weight: torch.Tensor) -> float:
    return weight.abs().max().item()


def test_embeddings_have_deviation_one_over_root_d_and_a_zero_row_for_pad() -> None:
    model = model_of(tied_embeddings="none")
    assert model.own_head is not None
    source_weight = model.source_embedding.tokens.weight
    target_weight = model.target_embedding.tokens.weight
    for weight in (source_weight, target_weight, model.own_head.weight):
        assert weight.std().item() == pytest.approx(128**-0.5, rel=0.02)
    assert (source_weight[PAD] == 0).all()
    assert (target_weight[PAD] == 0).all()


def test_learned_positions_start_with_the_magnitude_of_sinusoids() -> None:
    sinusoids = model_of(positions="sinusoidal").source_embedding.positions.table
    learned = model_of(positions="learned").source_embedding.positions.table
    assert sinusoids is not None
    assert learned is not None
    magnitude = sinusoids.square().mean().sqrt().item()
    assert magnitude == pytest.approx(0.5**0.5, rel=1e-4)
    assert learned.std().item() == pytest.approx(magnitude, rel=0.02)


def test_fused_projections_are_initialised_like_separate_ones() -> None:
    layer = model_of(activation="swiglu").decoder.layers[0]
    attention_bound = xavier_bound(128, 128)
    for weight in (
        layer.self_attention.query_key_value.weight,
        layer.cross_attention.query.weight,
        layer.cross_attention.key_value.weight,
    ):
        assert largest_entry(weight) == pytest.approx(attention_bound, rel=0.01)
    assert largest_entry(layer.feed_forward.inner.weight) == pytest.approx(xavier_bound(128, 256), rel=0.01)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_sublayer_outputs_are_scaled_by_depth(norm: str) -> None:
    model = model_of(norm=norm)
    # Two layers of two sublayers, and three layers of three.
    for stack, sublayers in ((model.encoder, 4), (model.decoder, 9)):
        attention_bound = xavier_bound(128, 128) / math.sqrt(sublayers)
        feed_forward_bound = xavier_bound(128, 256) / math.sqrt(sublayers)
        for layer in stack.layers:
            assert isinstance(layer, EncoderLayer | DecoderLayer)
            assert largest_entry(layer.self_attention.output.weight) == pytest.approx(attention_bound, rel=0.01)
            assert largest_entry(layer.feed_forward.outer.weight) == pytest.approx(feed_forward_bound, rel=0.01)


def test_biases_are_zero_and_norms_are_the_identity() -> None:
    for name, weight in model_of().named_parameters():
        if name.endswith("bias"):
            assert (weight == 0).all(), name
        elif "norm" in name:
            assert (weight == 1).all(), name
