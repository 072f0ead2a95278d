"""The optimizer's state comes back exactly, and decay falls on matrices alone."""

import torch
from torch import nn

from translator.config import TrainingConfig
from translator.training.optimizer import build_optimizer, optimizer_tensors, restore_optimizer, set_learning_rate


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2))


def steps(model: nn.Module, optimizer: torch.optim.Optimizer, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        set_learning_rate(optimizer, 1e-2 / (number + 1))
        inputs = torch.randn(5, 4, generator=torch.Generator().manual_seed(number))
        model(inputs).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def test_interrupted_equals_uninterrupted() -> None:
    config = TrainingConfig(weight_decay=0.1)
    whole = network()
    steps(whole, build_optimizer(whole, config), 6)
    first = network()
    optimizer = build_optimizer(first, config)
    steps(first, optimizer, 3)
    weights = {key: value.clone() for key, value in first.state_dict().items()}
    tensors = {key: value.clone() for key, value in optimizer_tensors(optimizer).items()}
    second = network()
    second.load_state_dict(weights)
    optimizer = build_optimizer(second, config)
    restore_optimizer(optimizer, tensors | {"random.cpu": torch.get_rng_state()})
    steps(second, optimizer, 3, first=3)
    for ours, expected in zip(second.parameters(), whole.parameters(), strict=True):
        assert torch.equal(ours, expected)


def test_decay_falls_on_matrices_alone() -> None:
    matrices, others = build_optimizer(network(), TrainingConfig(weight_decay=0.1)).param_groups
    assert (matrices["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    assert {p.dim() for p in matrices["params"]} == {2}
    assert {p.dim() for p in others["params"]} == {1}
