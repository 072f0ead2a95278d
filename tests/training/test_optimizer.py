"""The optimizer's state comes back exactly, and decay falls on matrices alone."""

import torch
from torch import nn

from translator.config import TrainingConfig
from translator.training.optimizer import build_optimizer, optimizer_tensors, restore_optimizer, update


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2))


def norm_of(model: nn.Module) -> torch.Tensor:
    return nn.utils.get_total_norm([weight.grad for weight in model.parameters() if weight.grad is not None])


def steps(model: nn.Module, optimizer: torch.optim.AdamW, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        inputs = torch.randn(5, 4, generator=torch.Generator().manual_seed(number))
        model(inputs).square().sum().backward()
        update(optimizer, 1e-2 / (number + 1), norm_of(model), torch.tensor(True), None)


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


def test_clipping_inside_the_kernel_is_clipping_before_it() -> None:
    results = []
    for inside in (True, False):
        model = network()
        optimizer = build_optimizer(model, TrainingConfig())
        for number in range(4):
            model(torch.randn(5, 4, generator=torch.Generator().manual_seed(number))).square().sum().backward()
            clip = 0.5 if number % 2 else 1e6  # one that shortens, one that does not
            norm = norm_of(model)
            if not inside:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            update(optimizer, 1e-2, norm, torch.tensor(True), clip if inside else None)
        results.append([weight.detach() for weight in model.parameters()])
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-7)


def test_an_update_that_is_not_finite_leaves_everything_as_it_is() -> None:
    model = network()
    optimizer = build_optimizer(model, TrainingConfig(weight_decay=0.1))
    steps(model, optimizer, 2)
    weights = [weight.detach().clone() for weight in model.parameters()]
    state = {name: tensor.clone() for name, tensor in optimizer_tensors(optimizer).items()}
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, float("nan"))
    update(optimizer, 1e-2, torch.tensor(float("nan")), torch.tensor(False), 1.0)
    assert all(torch.equal(now, before) for now, before in zip(model.parameters(), weights, strict=True))
    for name, tensor in optimizer_tensors(optimizer).items():
        assert torch.equal(tensor, state[name]), name
    assert all(weight.grad is None for weight in model.parameters())
