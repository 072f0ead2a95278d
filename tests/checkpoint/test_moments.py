"""The moments in a checkpoint: those of each optimizer, and the state of the loss scale."""

import pytest
import torch
from torch import Tensor

from tests.support.optimizer_steps import FINITE, RATE, make_update, network
from translator.checkpoint.moments import moments_of, restore_moments
from translator.core.optimizer import ModelOptimizer, OptimizerSettings
from translator.speed.loss_scale import FIRST_FACTOR, STEADY, ScaledOptimizer

SETTINGS = OptimizerSettings(clip=None)
NORM = torch.tensor(1.0)


def loss_scale_in(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in tensors.items() if name.startswith("loss_scale")}


def test_a_loss_scale_keeps_its_types_and_its_count() -> None:
    optimizer = ScaledOptimizer(network(), SETTINGS)
    optimizer.update(RATE, NORM, ~FINITE)
    for _ in range(STEADY - 1):
        optimizer.update(RATE, NORM, FINITE)
    state = loss_scale_in(moments_of(optimizer))
    restored = ScaledOptimizer(network(), SETTINGS)
    restore_moments(restored, state)
    torch.testing.assert_close(loss_scale_in(moments_of(restored)), state, rtol=0, atol=0)
    assert restored.scale.item() == FIRST_FACTOR / 2
    restored.update(RATE, NORM, FINITE)
    assert restored.scale.item() == FIRST_FACTOR, "this finite update is the last that it waited for"


def test_a_run_may_continue_without_its_loss_scale_and_gain_one() -> None:
    model = network()
    scaled = ScaledOptimizer(model, SETTINGS)
    make_update(model, scaled, 1)
    plain = ModelOptimizer(network(), SETTINGS)
    restore_moments(plain, moments_of(scaled))
    weights = {name: tensor for name, tensor in moments_of(scaled).items() if not name.startswith("loss_scale")}
    torch.testing.assert_close(moments_of(plain), weights, rtol=0, atol=0)

    gained = ScaledOptimizer(network(), SETTINGS)
    restore_moments(gained, moments_of(plain))
    assert gained.scale.item() == FIRST_FACTOR


def test_the_moments_of_an_unknown_optimizer_are_refused() -> None:
    with pytest.raises(KeyError, match="muon"):
        restore_moments(ModelOptimizer(network(), SETTINGS), {"muon.0.momentum_buffer": torch.zeros(1)})
