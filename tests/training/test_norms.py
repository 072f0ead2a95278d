"""Norms by block, against the norm of all that is in the block."""

import pytest
import torch
from small_model import SMALL, small_batch
from torch import nn

from translator.model import Transformer
from translator.training.norms import BlockNorms, block_name


def trained(tied: str = "target") -> nn.Module:
    """A small model with gradients."""
    torch.manual_seed(1)
    model = Transformer(SMALL.model_copy(update={"tied_embeddings": tied}), 27, 27)
    source, target_input, _ = small_batch()
    model(source, target_input).square().mean().backward()
    return model


@pytest.mark.parametrize(("tied", "ends"), [("none", ["head"]), ("target", []), ("all", [])])
def test_each_block_has_the_norm_of_its_parameters(tied: str, ends: list[str]) -> None:
    model = trained(tied)
    norms = BlockNorms(model)
    expected_names = ["source_embedding"] + ["target_embedding"] * (tied != "all")
    expected_names += ["encoder.layers.0", "encoder.layers.1", "encoder.norm"]
    expected_names += ["decoder.layers.0", "decoder.layers.1", "decoder.norm", *ends]
    assert norms.names == expected_names
    gradients, weights = norms.named(norms.gradients()), norms.named(norms.weights())
    for name in expected_names:
        own_name = {"head": "own_head", "target_embedding": "own_target_embedding"}.get(name, name)
        own = list(model.get_submodule(own_name).parameters())
        assert gradients[name] > 0
        flat = [parameter.grad.flatten() for parameter in own if parameter.grad is not None]
        assert gradients[name] == pytest.approx(float(torch.cat(flat).norm()), rel=1e-5)
        assert weights[name] == pytest.approx(float(torch.cat([p.detach().flatten() for p in own]).norm()), rel=1e-5)


def test_the_blocks_together_are_the_whole_gradient() -> None:
    model = trained()
    whole = nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
    assert float(BlockNorms(model).gradients().norm()) == pytest.approx(float(whole), rel=1e-5)


def test_a_missing_gradient_counts_as_zero() -> None:
    model = trained()
    for parameter in model.get_submodule("encoder.layers.0").parameters():
        parameter.grad = None
    norms = BlockNorms(model)
    assert norms.named(norms.gradients())["encoder.layers.0"] == 0.0
    model.zero_grad(set_to_none=True)
    assert norms.gradients().tolist() == [0.0] * len(norms.names)


def test_names_are_those_of_the_model() -> None:
    assert block_name("decoder.layers.11.feed_forward.inner.weight") == "decoder.layers.11"
    assert block_name("own_target_embedding.positions.table") == "target_embedding"
