"""Muon and the loss scale keep what the optimizer of the core promises: skips, restoration, no waiting."""

import copy
import math
from collections.abc import Callable

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
from translator.speed.loss_scale import ScaledOptimizer
from translator.speed.muon import muon_of

SETTINGS = OptimizerSettings(weight_decay=0.1, clip=0.5)  # below the norm of every gradient here
Build = Callable[[nn.Module], ModelOptimizer]


def with_muon(kind: type[ModelOptimizer]) -> Build:
    return lambda model: kind(model, SETTINGS, {"muon": muon_of(model, SETTINGS.weight_decay)})


PLAIN: dict[str, Build] = {"adamw": lambda model: ModelOptimizer(model, SETTINGS), "muon": with_muon(ModelOptimizer)}
SCALED: dict[str, Build] = {
    "adamw": lambda model: ScaledOptimizer(model, SETTINGS),
    "muon": with_muon(ScaledOptimizer),
}
BUILDS = pytest.mark.parametrize("build", [SCALED["adamw"], PLAIN["muon"], SCALED["muon"]], ids=["s", "m", "sm"])


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_a_scaled_loss_makes_the_updates_of_a_plain_one(kind: str) -> None:
    models = (network(), network())
    for model, builds in zip(models, (PLAIN, SCALED), strict=True):
        optimizer = builds[kind](model)
        for number in range(4):
            make_update(model, optimizer, number)
    # Muon computes in bf16, where the last bit of a scale may tip a rounding.
    tolerance = 1e-7 if kind == "adamw" else 1e-4
    plain, scaled = (list(model.parameters()) for model in models)
    torch.testing.assert_close(scaled, plain, rtol=1e-5, atol=tolerance)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@BUILDS
def test_a_nonfinite_update_changes_neither_weights_nor_moments(build: Build, value: float) -> None:
    model = network()
    optimizer = build(model)
    make_update(model, optimizer, 1)
    weights, moments = copy.deepcopy(model.state_dict()), moments_of(optimizer)
    assert moments
    skip_update(model, optimizer, value)
    torch.testing.assert_close(model.state_dict(), weights, rtol=0, atol=0)
    torch.testing.assert_close(moments_of(optimizer), moments, rtol=0, atol=0)


@pytest.mark.parametrize("device", ["cpu", *["cuda"] * torch.cuda.is_available()])
@BUILDS
def test_an_update_neither_waits_for_the_device_nor_moves_the_gradients(build: Build, device: str) -> None:
    place = torch.device(device)
    model = network().to(place)
    optimizer = build(model)
    for number in range(2):
        norm = backward(model, number)
        finite = torch.isfinite(norm)
        addresses = [gradient.data_ptr() for gradient in gradients_of(model)]
        with no_synchronization(place):
            optimizer.update(RATE, norm, finite)
        assert [gradient.data_ptr() for gradient in gradients_of(model)] == addresses
        model.zero_grad()
