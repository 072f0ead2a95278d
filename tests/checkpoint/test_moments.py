"""The moments in a checkpoint: those of each optimizer, and the state of the loss scale."""

from tests.support.optimizer_steps import make_update, network
from tests.support.tiny_runs import assert_same_bits
from translator.checkpoint.moments import moments_of, restore_moments
from translator.core.optimizer import ModelOptimizer, OptimizerSettings
from translator.speed.loss_scale import FIRST_FACTOR, ScaledOptimizer

SETTINGS = OptimizerSettings()


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
