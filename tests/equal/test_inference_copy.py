"""A model prepared for searches computes what the model of the core does."""

from typing import Literal

import pytest
import torch

from tests.support.small_model import small_batch, small_model
from translator.speed.inference_copy import search_copy


@pytest.mark.parametrize("tied", ["none", "target"])
@pytest.mark.parametrize(("precision", "error"), [("float32", 1e-5), ("bf16", 0.03)])
def test_a_prepared_model_computes_the_same_and_does_not_follow_the_weights_of_its_model(
    tied: str, precision: Literal["float32", "bf16"], error: float
) -> None:
    model = small_model(tied_embeddings=tied).eval()
    source, target, _ = small_batch()
    expected = model(source, target)
    prepared = search_copy(model, precision)
    logits = prepared(source, target)
    assert logits.dtype is torch.float32
    assert (logits - expected).norm() / expected.norm() < error
    assert precision == "float32" or not torch.equal(logits, expected), "bf16 is rounded"

    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    assert torch.equal(prepared(source, target), logits)
