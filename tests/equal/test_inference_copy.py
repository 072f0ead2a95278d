"""A model prepared for searches computes what the model of the core does, whole or step by step."""

from typing import Literal

import pytest
import torch

from tests.support.small_model import small_batch, small_model
from translator.core import SOS
from translator.speed.inference_copy import prepare

TIED = pytest.mark.parametrize("tied", ["none", "target"])
PRECISIONS = pytest.mark.parametrize(("precision", "error"), [("float32", 1e-5), ("bf16", 0.03)])


@TIED
@PRECISIONS
def test_a_prepared_model_computes_the_same(tied: str, precision: Literal["float32", "bf16"], error: float) -> None:
    model = small_model(tied_embeddings=tied).eval()
    source, target, _ = small_batch()
    expected = model(source, target)
    logits = prepare(model, precision)(source, target)
    assert logits.dtype is torch.float32
    assert (logits - expected).norm() / expected.norm() < error


def test_a_model_prepared_in_bf16_is_rounded() -> None:
    model = small_model().eval()
    source, target, _ = small_batch()
    assert not torch.equal(prepare(model, "bf16")(source, target), model(source, target))


@TIED
@PRECISIONS
def test_a_prepared_model_does_not_follow_the_weights_of_its_model(
    tied: str, precision: Literal["float32", "bf16"], error: float
) -> None:
    model = small_model(tied_embeddings=tied)
    source, target, _ = small_batch()
    prepared = prepare(model, precision)
    expected = prepared(source, target)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    assert torch.equal(prepared(source, target), expected)


@TIED
@PRECISIONS
def test_preparing_leaves_the_model_as_it_is(tied: str, precision: Literal["float32", "bf16"], error: float) -> None:
    model = small_model(tied_embeddings=tied).train()
    names = set(model.state_dict())
    assert not prepare(model, precision).training
    assert model.training
    assert set(model.state_dict()) == names


@PRECISIONS
def test_the_steps_of_a_search_are_the_same(precision: Literal["float32", "bf16"], error: float) -> None:
    model = small_model().eval()
    prepared = prepare(model, precision)
    source, target_input, _ = small_batch()
    tokens = target_input[:, :2].repeat_interleave(2, dim=0)  # two hypotheses of each sentence
    assert (tokens[:, 0] == SOS).all()
    cache, expected_cache = prepared.start(source, 2), model.start(source, 2)
    for column in tokens.unbind(1):
        expected = model.step(column, expected_cache)
        logits = prepared.step(column, cache)
        assert (logits - expected).norm() / expected.norm() < error
