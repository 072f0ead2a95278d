"""The moments in a checkpoint: those of each optimizer, and the state of the loss scale."""

import pytest
import torch

from tests.support.optimizer_steps import FINITE, RATE, make_update, network
from tests.support.tiny_runs import assert_same_bits
from translator.checkpoint.moments import moments_of, restore_moments
from translator.core.optimizer import ModelOptimizer, OptimizerSettings
from translator.speed.loss_scale import FIRST_FACTOR, ScaledOptimizer

SETTINGS = OptimizerSettings(clip=None)
NORM = torch.tensor(1.0)


def test_a_loss_scale_keeps_its_factor_and_its_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.speed.loss_scale.STEADY", 4)
    optimizer = ScaledOptimizer(network(), SETTINGS)
    optimizer.update(RATE, NORM, ~FINITE)
    for _ in range(3):
        optimizer.update(RATE, NORM, FINITE)
    restored = ScaledOptimizer(network(), SETTINGS)
    restore_moments(restored, moments_of(optimizer))
    assert_same_bits(moments_of(restored), moments_of(optimizer))
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
    assert_same_bits(moments_of(plain), weights)

    gained = ScaledOptimizer(network(), SETTINGS)
    restore_moments(gained, moments_of(plain))
    assert gained.scale.item() == FIRST_FACTOR


def test_the_moments_of_an_unknown_optimizer_are_refused() -> None:
    with pytest.raises(KeyError, match="muon"):
        restore_moments(ModelOptimizer(network(), SETTINGS), {"muon.0.momentum_buffer": torch.zeros(1)})
