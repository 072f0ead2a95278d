"""The loss scale follows the gradients, and a resumed run continues with it."""

import pytest
import torch

from translator.training.loss_scale import STEADY, LossScale

FINITE = torch.tensor(True)


@pytest.fixture
def scale() -> LossScale:
    return LossScale(torch.device("cpu"))


def adapt(scale: LossScale, updates: int) -> float:
    """Return the factor after that many finite updates."""
    for _ in range(updates):
        scale.adapt(FINITE)
    return scale.state["factor"].item()


def test_the_factor_halves_on_overflow(scale: LossScale) -> None:
    before = scale.state["factor"].item()
    scale.adapt(~FINITE)
    assert scale.state["factor"].item() == before / 2


def test_the_factor_doubles_after_steady_updates(scale: LossScale) -> None:
    before = scale.state["factor"].item()
    assert adapt(scale, STEADY - 1) == before
    assert adapt(scale, 1) == 2 * before
    assert adapt(scale, STEADY - 1) == 2 * before, "the count starts anew"


def test_an_overflow_restarts_the_count(scale: LossScale) -> None:
    before = adapt(scale, STEADY - 1)
    scale.adapt(~FINITE)
    assert adapt(scale, STEADY - 1) == before / 2
    assert adapt(scale, 1) == before


def test_the_state_keeps_its_types(scale: LossScale) -> None:
    types = {kind: tensor.dtype for kind, tensor in scale.state.items()}
    scale.adapt(FINITE)
    assert {kind: tensor.dtype for kind, tensor in scale.state.items()} == types
