"""Muon against torch's own, against a plain definition bit by bit, and with gradients that are not finite."""

from collections import defaultdict

import pytest
import torch
from torch import Tensor, nn

from translator.training.muon import ITERATIONS, MOMENTUM, Muon, near_orthonormal

FINITE = torch.tensor(True)
SHAPES = [(8, 8), (24, 8), (8, 24), (16, 4), (8, 8), (4, 16), (24, 8)]


def matrices(seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in SHAPES]


def weights_from(seed: int) -> list[nn.Parameter]:
    return [nn.Parameter(matrix) for matrix in matrices(seed)]


def set_gradients(weights: list[nn.Parameter], gradients: list[Tensor]) -> None:
    for weight, gradient in zip(weights, gradients, strict=True):
        weight.grad = gradient.clone()


@pytest.mark.parametrize("pays", [True, False])
def test_muon_agrees_with_torchs_muon(pays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in float32, which ours uses where bf16 is slower; torch's Muon always rounds to bf16."""
    precisions: list[torch.dtype] = []

    def noted(stack: Tensor, precision: torch.dtype) -> Tensor:
        precisions.append(precision)
        return near_orthonormal(stack, precision)

    monkeypatch.setattr("translator.training.muon.bf16_pays", lambda device: pays)
    monkeypatch.setattr("translator.training.muon.near_orthonormal", noted)

    weights, torch_weights = weights_from(0), weights_from(0)
    muon = Muon([{"params": weights}], learning_rate=0.1, weight_decay=0.1)
    torch_muon = torch.optim.Muon(
        torch_weights,
        lr=0.1,
        weight_decay=0.1,
        adjust_lr_fn="match_rms_adamw",
        ns_steps=ITERATIONS,
    )
    # One or both round to bf16, at different points; if both do, much of the error is common.
    # The root mean square of an update is 0.2 times the rate, which is 0.1 / number.
    tolerance = 0.002 if pays else 0.004

    for number in range(1, 6):
        set_gradients(weights, matrices(number))
        set_gradients(torch_weights, matrices(number))
        for optimizer in (muon, torch_muon):
            optimizer.param_groups[0]["lr"] = 0.1 / number
        muon.step(FINITE)
        torch_muon.step()  # type: ignore[no-untyped-call]
        for weight, torch_weight in zip(weights, torch_weights, strict=True):
            torch.testing.assert_close(weight, torch_weight, rtol=0.0, atol=tolerance)
            moment = muon.state[weight]["momentum_buffer"]
            torch_moment = torch_muon.state[torch_weight]["momentum_buffer"]
            torch.testing.assert_close(moment, torch_moment)
    assert set(precisions) == {torch.bfloat16 if pays else torch.float32}


class PlainMuon:
    """Muon's definition for finite gradients: no scale of the gradients, no masks."""

    def __init__(self, weights: list[nn.Parameter], rate: float, weight_decay: float, blocks: int) -> None:
        self.weights = weights
        self.rate = rate
        self.decay = 1.0 - rate * weight_decay
        self.blocks = blocks
        self.moments = [torch.zeros_like(weight) for weight in weights]

    @torch.no_grad()
    def step(self, precision: torch.dtype) -> None:
        # 1. Decay the weights; sort their blocks, and the direction in which each moves, by shape.
        blocks_of_shape: dict[torch.Size, list[Tensor]] = defaultdict(list)
        directions_of_shape: dict[torch.Size, list[Tensor]] = defaultdict(list)
        for weight, moment in zip(self.weights, self.moments, strict=True):
            assert weight.grad is not None
            moment.lerp_(weight.grad, 1.0 - MOMENTUM)
            direction = torch.lerp(weight.grad, moment, MOMENTUM)
            weight.mul_(self.decay)
            shape = weight.chunk(self.blocks)[0].shape
            blocks_of_shape[shape] += weight.chunk(self.blocks)
            directions_of_shape[shape] += direction.chunk(self.blocks)

        # 2. Move the blocks of each shape.
        for shape, blocks in blocks_of_shape.items():
            step_size = self.rate * 0.2 * max(shape) ** 0.5
            directions = torch.stack(directions_of_shape[shape])
            for block, update in zip(blocks, near_orthonormal(directions, precision), strict=True):
                block.add_(update, alpha=-step_size)


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float32])
def test_finite_updates_have_the_bits_of_the_definition(
    precision: torch.dtype, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translator.training.muon.bf16_pays", lambda device: precision == torch.bfloat16)
    weights, plain_weights = weights_from(0), weights_from(0)
    muon = Muon([{"params": weights, "blocks": blocks}], learning_rate=0.1, weight_decay=0.1)
    plain = PlainMuon(plain_weights, rate=0.1, weight_decay=0.1, blocks=blocks)
    for number in range(3):
        set_gradients(weights, matrices(number + 1))
        set_gradients(plain_weights, matrices(number + 1))
        muon.step(FINITE)
        plain.step(precision)
    for weight, expected, moment in zip(weights, plain_weights, plain.moments, strict=True):
        assert torch.equal(weight, expected)
        assert torch.equal(muon.state[weight]["momentum_buffer"], moment)


def test_gradients_are_divided_by_their_scale() -> None:
    weights = weights_from(0)
    set_gradients(weights, matrices(1))
    muon = Muon([{"params": weights}], learning_rate=0.1, weight_decay=0.1)
    muon.step(FINITE)

    scaled_weights = weights_from(0)
    set_gradients(scaled_weights, [1024.0 * gradient for gradient in matrices(1)])
    scaled_muon = Muon([{"params": scaled_weights}], learning_rate=0.1, weight_decay=0.1)
    scaled_muon.step(FINITE, gradient_scale=torch.tensor(1024.0))

    for weight, scaled_weight in zip(weights, scaled_weights, strict=True):
        assert torch.equal(weight, scaled_weight)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_skipped_update_changes_neither_weights_nor_momentum(value: float) -> None:
    weights = weights_from(0)
    muon = Muon([{"params": weights}], learning_rate=0.1, weight_decay=0.1)
    set_gradients(weights, matrices(1))
    muon.step(FINITE)
    weights_before = [weight.detach().clone() for weight in weights]
    moments_before = [muon.state[weight]["momentum_buffer"].clone() for weight in weights]

    spoilt_gradients = [torch.full_like(weight, value) for weight in weights]
    set_gradients(weights, spoilt_gradients)
    muon.step(~FINITE)
    for weight, weight_before, moment_before in zip(weights, weights_before, moments_before, strict=True):
        assert torch.equal(weight, weight_before)
        assert torch.equal(muon.state[weight]["momentum_buffer"], moment_before)
