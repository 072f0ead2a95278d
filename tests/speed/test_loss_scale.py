"""The loss scale follows the gradients."""

import pytest
import torch
from torch import Tensor, nn

from tests.support.optimizer_steps import FINITE
from translator.core.optimizer import OptimizerSettings
from translator.speed.loss_scale import FIRST_FACTOR, ScaledOptimizer


def test_the_factor_halves_on_overflow_and_doubles_after_steady_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.speed.loss_scale.STEADY", 4)
    model = nn.Linear(1, 1)
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizer = ScaledOptimizer(model, OptimizerSettings())

    def factor_after(updates: int, finite: Tensor = FINITE) -> float:
        for _ in range(updates):
            optimizer.update(1e-3, torch.tensor(1.0), finite)
        return optimizer.scale.item() / FIRST_FACTOR

    assert factor_after(3) == 1
    assert factor_after(1) == 2
    assert factor_after(3) == 2, "the count starts anew"
    assert factor_after(1, ~FINITE) == 1, "an overflow starts it anew, too"
    assert factor_after(3) == 1
    assert factor_after(1) == 2
