"""Muon against torch's own, and against the singular value decomposition of its gradient."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from translator.core.layers import NetworkSettings
from translator.core.optimizer import ModelOptimizer, OptimizerSettings
from translator.core.transformer import Transformer
from translator.speed.muon import ITERATIONS, Muon, muon_of, near_orthonormal

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

    monkeypatch.setattr("translator.speed.muon.bf16_pays", lambda device: pays)
    monkeypatch.setattr("translator.speed.muon.near_orthonormal", noted)

    weights, torch_weights = weights_from(0), weights_from(0)
    muon = Muon([{"params": weights, "lr": 0.1}], weight_decay=0.1)
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
        muon.step()
        torch_muon.step()  # type: ignore[no-untyped-call]
        for weight, torch_weight in zip(weights, torch_weights, strict=True):
            torch.testing.assert_close(weight, torch_weight, rtol=0.0, atol=tolerance)
            moment = muon.state[weight]["momentum_buffer"]
            torch_moment = torch_muon.state[torch_weight]["momentum_buffer"]
            torch.testing.assert_close(moment, torch_moment)
    assert set(precisions) == {torch.bfloat16 if pays else torch.float32}


def stacked_matrices(name: str, activation: str) -> int:
    """How many matrices a weight stacks: queries, keys and values; keys and values; a gate and its input."""
    if "query_key_value" in name:
        return 3
    if "key_value" in name or (activation == "swiglu" and "inner" in name):
        return 2
    return 1


@dataclass(frozen=True)
class OneUpdate:
    """The weights of a model before and after one update of either optimizer, by name, and the gradients."""

    activation: str
    before: dict[str, Tensor]
    gradients: dict[str, Tensor]
    by_adamw: dict[str, Tensor]
    by_muon: dict[str, Tensor]

    @property
    def names_of_muon(self) -> set[str]:
        """The weights that the two optimizers update in different ways."""
        return {name for name in self.before if not torch.equal(self.by_adamw[name], self.by_muon[name])}


@pytest.fixture(scope="module", params=["relu", "swiglu"])
def one_update(request: pytest.FixtureRequest) -> OneUpdate:
    torch.manual_seed(0)
    settings = NetworkSettings(8, 2, 1, 1, feed_forward=16, activation=request.param, max_positions=16)
    model = Transformer(settings, 11, 11)
    before = copied_weights(model)
    gradients = {name: torch.randn_like(weight) for name, weight in before.items()}

    def updated(extra: dict[str, torch.optim.Optimizer]) -> dict[str, Tensor]:
        model.load_state_dict(before)
        for name, weight in model.named_parameters():
            weight.grad = gradients[name].clone()
        ModelOptimizer(model, OptimizerSettings(), extra).update(0.5, torch.tensor(1.0), FINITE)
        return copied_weights(model)

    return OneUpdate(
        activation=request.param,
        before=before,
        gradients=gradients,
        by_adamw=updated({}),
        by_muon=updated({"muon": muon_of(model, 0.0)}),
    )


def copied_weights(model: Transformer) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


def test_muon_updates_the_matrices_of_the_blocks_and_no_others(one_update: OneUpdate) -> None:
    expected = set()
    for name, weight in one_update.before.items():
        if name.startswith(("encoder.", "decoder.")) and weight.dim() == 2:
            expected.add(name)
    assert one_update.names_of_muon == expected
    assert len(expected) == 4 + 7


def test_muon_moves_each_matrix_along_the_orthonormal_factor_of_its_gradient(one_update: OneUpdate) -> None:
    """That is U Vᵀ, of the singular value decomposition U S Vᵀ of the gradient."""
    for name in one_update.names_of_muon:
        count = stacked_matrices(name, one_update.activation)
        moves = (one_update.before[name] - one_update.by_muon[name]).chunk(count)
        gradients = one_update.gradients[name].chunk(count)
        for move, gradient in zip(moves, gradients, strict=True):
            step_size = 0.5 * 0.2 * max(gradient.shape) ** 0.5
            u, values, v_transposed = torch.linalg.svd(gradient, full_matrices=False)
            along = (u.T @ (move / step_size) @ v_transposed.T).diagonal()
            # Three iterations only approximate it: all but tiny singular values become about 1.
            is_large = values > 0.02 * values.norm()
            assert along.max() < 1.4, name
            assert along[is_large].min() > 0.5, name
