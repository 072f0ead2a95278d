"""Muon against torch's own, for the matrices of layers, each by itself; all other weights are left to AdamW."""

from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from translator.core.layers import NetworkSettings
from translator.core.optimizer import ModelOptimizer, OptimizerSettings
from translator.core.transformer import Transformer
from translator.speed.muon import ITERATIONS, muon_of, near_orthonormal

RATE = 0.1
DECAY = 0.1


def stacked_matrices(name: str, activation: str) -> int:
    """How many matrices a weight stacks: queries, keys and values; keys and values; a gate and its input."""
    if "query_key_value" in name:
        return 3
    if "key_value" in name or (activation == "swiglu" and "inner" in name):
        return 2
    return 1


def torch_muon_of(matrices: list[Tensor]) -> torch.optim.Optimizer:
    parameters = [nn.Parameter(matrix.clone()) for matrix in matrices]
    return torch.optim.Muon(
        parameters, lr=RATE, weight_decay=DECAY, adjust_lr_fn="match_rms_adamw", ns_steps=ITERATIONS
    )


@pytest.mark.parametrize("activation", ["relu", "swiglu"])
@pytest.mark.parametrize("pays", [True, False])
def test_matrices_of_layers_are_updated_as_by_torchs_muon_and_other_weights_by_adamw(
    activation: Literal["relu", "swiglu"], pays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in float32, which ours uses where bf16 is slower; torch's Muon always rounds to bf16."""
    precisions: set[torch.dtype] = set()

    def noted(stack: Tensor, precision: torch.dtype) -> Tensor:
        precisions.add(precision)
        return near_orthonormal(stack, precision)

    monkeypatch.setattr("translator.speed.muon.bf16_pays", lambda device: pays)
    monkeypatch.setattr("translator.speed.muon.near_orthonormal", noted)

    torch.manual_seed(0)
    model = Transformer(NetworkSettings(8, 2, 1, 1, feed_forward=16, activation=activation, max_positions=16), 11, 11)
    matrices: list[Tensor] = []
    blocks = 0
    others: list[str] = []
    for name, weight in model.named_parameters():
        if name.startswith(("encoder.", "decoder.")) and weight.dim() == 2:
            matrices += weight.detach().chunk(stacked_matrices(name, activation))
            blocks += 1
        else:
            others.append(name)
    assert blocks == 4 + 7
    torch_muon = torch_muon_of(matrices)
    expected: list[nn.Parameter] = torch_muon.param_groups[0]["params"]
    optimizer = ModelOptimizer(model, OptimizerSettings(), {"muon": muon_of(model, DECAY)})

    for number in range(1, 6):
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        offset = 0
        for name, weight in model.named_parameters():
            if name in others or weight.grad is None:
                continue
            for gradient in weight.grad.chunk(stacked_matrices(name, activation)):
                expected[offset].grad = gradient.clone()
                offset += 1
        torch_muon.param_groups[0]["lr"] = RATE / number
        torch_muon.step()
        optimizer.update(RATE / number, torch.tensor(1.0), torch.tensor(True))
        # One or both round to bf16, at different points; if both do, much of the error is common.
        # The root mean square of an update is 0.2 times the rate.
        tolerance = 0.002 if pays else 0.004
        torch.testing.assert_close(matrices, [weight.data for weight in expected], rtol=0.0, atol=tolerance)
    assert precisions == {torch.bfloat16 if pays else torch.float32}
    assert len(optimizer.optimizers["optimizer"].state) == len(others), "AdamW has moments of the others"
