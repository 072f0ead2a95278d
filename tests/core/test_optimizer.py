"""The optimizer of a model: AdamW, clipping, skipped updates, and exact resumption."""

import pytest
import torch
from torch import nn

from tests.support.optimizer_steps import (
    RATE,
    backward,
    make_update,
    network,
)
from translator.core.optimizer import EPSILON, ModelOptimizer, OptimizerSettings

SETTINGS = OptimizerSettings(weight_decay=0.1)
CLIP = 0.5  # below the norm of every gradient here


@pytest.mark.parametrize("clip", [None, CLIP, 1e6])
def test_updates_are_those_of_torchs_adamw_after_its_clipping(clip: float | None) -> None:
    model, expected = network(), network()
    optimizer = ModelOptimizer(model, OptimizerSettings(weight_decay=0.0))
    torch_optimizer = torch.optim.AdamW(expected.parameters(), RATE, betas=(0.9, 0.98), eps=EPSILON, weight_decay=0.0)
    for number in range(4):
        make_update(model, optimizer, number, clip)
        assert backward(expected, number) > CLIP
        if clip is not None:
            nn.utils.clip_grad_norm_(expected.parameters(), clip)
        torch_optimizer.step()
        torch_optimizer.zero_grad()
    torch.testing.assert_close(list(model.parameters()), list(expected.parameters()), rtol=1e-5, atol=1e-7)


def test_weight_decay_applies_to_matrices_only() -> None:
    dimensions: dict[float, list[int]] = {0.1: [], 0.0: []}
    for group in ModelOptimizer(network(), SETTINGS).groups:
        dimensions[group["weight_decay"]] += [weight.dim() for weight in group["params"]]
    assert dimensions == {0.1: [2, 2], 0.0: [1, 1, 1, 1]}
