"""The loss scale follows the gradients, and a resumed run continues with it."""

import pytest
import torch
from torch import Tensor, nn

from tests.support.optimizer_steps import FINITE
from translator.core.optimizer import OptimizerSettings
from translator.speed.loss_scale import FIRST_FACTOR, STEADY, ScaledOptimizer

SETTINGS = OptimizerSettings(clip=None)


class OneWeight(nn.Module):
    """The smallest model, so that thousands of updates are fast."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.weight.grad = torch.zeros(1)


@pytest.fixture
def optimizer() -> ScaledOptimizer:
    return ScaledOptimizer(OneWeight(), SETTINGS)


def factor_after(optimizer: ScaledOptimizer, updates: int, finite: Tensor = FINITE) -> float:
    """Return the factor after that many updates."""
    for _ in range(updates):
        optimizer.update(1e-3, torch.tensor(1.0), finite)
    return optimizer.scale.item()


def test_the_factor_halves_on_overflow(optimizer: ScaledOptimizer) -> None:
    assert factor_after(optimizer, 1, ~FINITE) == FIRST_FACTOR / 2


def test_the_factor_doubles_after_steady_updates(optimizer: ScaledOptimizer) -> None:
    assert factor_after(optimizer, STEADY - 1) == FIRST_FACTOR
    assert factor_after(optimizer, 1) == 2 * FIRST_FACTOR
    assert factor_after(optimizer, 1) == 2 * FIRST_FACTOR, "the count starts anew"


def test_an_overflow_restarts_the_count(optimizer: ScaledOptimizer) -> None:
    factor_after(optimizer, STEADY - 1)
    assert factor_after(optimizer, 1, ~FINITE) == FIRST_FACTOR / 2
    assert factor_after(optimizer, STEADY - 1) == FIRST_FACTOR / 2
    assert factor_after(optimizer, 1) == FIRST_FACTOR
