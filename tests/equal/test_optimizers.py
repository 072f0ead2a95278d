"""Muon and the loss scale keep what the optimizer of the core promises: skips, restoration, no waiting."""

import copy
import math

import pytest
import torch
from torch import nn

from tests.support.optimizer_steps import (
    RATE,
    backward,
    gradients_of,
    make_update,
    moments_of,
    network,
    no_synchronization,
    skip_update,
)
from translator.core.optimizer import ModelOptimizer, OptimizerSettings
from translator.core.update import clipping_divisor
from translator.speed.loss_scale import ScaledOptimizer
from translator.speed.muon import muon_of

SETTINGS = OptimizerSettings(weight_decay=0.1)
CLIP = 0.5  # below the norm of every gradient here


def optimizer_of(model: nn.Module, *parts: str) -> ModelOptimizer:
    """Return the optimizer with these of `scale` and `muon`."""
    kind = ScaledOptimizer if "scale" in parts else ModelOptimizer
    return kind(model, SETTINGS, {"muon": muon_of(model, SETTINGS.weight_decay)} if "muon" in parts else {})


PARTS = pytest.mark.parametrize("parts", [("scale",), ("muon",), ("scale", "muon")])


@pytest.mark.parametrize(("kind", "tolerance"), [("adamw", 1e-7), ("muon", 1e-4)])
def test_a_scaled_loss_makes_the_updates_of_a_plain_one(kind: str, tolerance: float) -> None:
    """Muon computes in bf16, where the last bit of a scale may tip a rounding."""
    weights = []
    for parts in ((kind,), (kind, "scale")):
        model = network()
        optimizer = optimizer_of(model, *parts)
        for number in range(4):
            make_update(model, optimizer, number, CLIP)
        weights.append(list(model.parameters()))
    torch.testing.assert_close(weights[1], weights[0], rtol=1e-5, atol=tolerance)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@PARTS
def test_a_nonfinite_update_changes_neither_weights_nor_moments(parts: tuple[str, ...], value: float) -> None:
    model = network()
    optimizer = optimizer_of(model, *parts)
    make_update(model, optimizer, 1)
    weights, moments = copy.deepcopy(model.state_dict()), moments_of(optimizer)
    assert moments
    skip_update(model, optimizer, value)
    torch.testing.assert_close(model.state_dict(), weights, rtol=0, atol=0)
    torch.testing.assert_close(moments_of(optimizer), moments, rtol=0, atol=0)


@pytest.mark.parametrize("device", ["cpu", *["cuda"] * torch.cuda.is_available()])
@PARTS
def test_an_update_neither_waits_for_the_device_nor_moves_the_gradients(parts: tuple[str, ...], device: str) -> None:
    place = torch.device(device)
    model = network().to(place)
    optimizer = optimizer_of(model, *parts)
    for number in range(2):
        norm = backward(model, number)
        finite = torch.isfinite(norm)
        addresses = [gradient.data_ptr() for gradient in gradients_of(model)]
        with no_synchronization(place):
            optimizer.update(RATE, clipping_divisor(norm, CLIP), finite)
        assert [gradient.data_ptr() for gradient in gradients_of(model)] == addresses
        model.zero_grad()
