"""The optimizers' state comes back exactly, decay falls on matrices alone, and Muon orthogonalizes what it updates."""

import pytest
import torch
from torch import Tensor, nn

from translator.config import ModelConfig, TrainingConfig
from translator.model import Transformer
from translator.training.optimizer import ModelOptimizer


class Small(nn.Module):
    """Two matrices that have the names of blocks, and what lies between them."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.decoder = nn.Linear(8, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return (N, 2) of `inputs` (N, 4)."""
        outputs: Tensor = self.decoder(self.norm(self.encoder(inputs)))
        return outputs


def network() -> Small:
    torch.manual_seed(0)
    return Small()


def settings(optimizer: str, **more: float) -> TrainingConfig:
    return TrainingConfig.model_validate({"optimizer": optimizer, **more})


def backward(model: nn.Module, number: int) -> Tensor:
    """Give the weights a gradient, another for each number, and return its norm."""
    inputs = torch.randn(5, 4, generator=torch.Generator().manual_seed(number))
    model(inputs).square().sum().backward()
    return nn.utils.get_total_norm([weight.grad for weight in model.parameters() if weight.grad is not None])


def steps(model: nn.Module, optimizer: ModelOptimizer, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        optimizer.update(1e-2 / (number + 1), backward(model, number), torch.tensor(True), None)


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_interrupted_equals_uninterrupted(kind: str) -> None:
    config = settings(kind, weight_decay=0.1)
    whole = network()
    steps(whole, ModelOptimizer(whole, config), 6)
    first = network()
    optimizer = ModelOptimizer(first, config)
    steps(first, optimizer, 3)
    weights = {key: value.clone() for key, value in first.state_dict().items()}
    tensors = {key: value.clone() for key, value in optimizer.tensors().items()}
    second = network()
    second.load_state_dict(weights)
    optimizer = ModelOptimizer(second, config)
    assert not optimizer.used
    optimizer.restore(tensors | {"random.cpu": torch.get_rng_state()})
    assert optimizer.used
    steps(second, optimizer, 3, first=3)
    for ours, expected in zip(second.parameters(), whole.parameters(), strict=True):
        assert torch.equal(ours, expected)


def test_adamw_is_torchs_over_all_weights() -> None:
    model, peer = network(), network()
    optimizer = ModelOptimizer(model, settings("adamw"))
    expected = torch.optim.AdamW(peer.parameters(), betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0)
    for number in range(4):
        optimizer.update(1e-2, backward(model, number), torch.tensor(True), None)
        backward(peer, number)
        expected.param_groups[0]["lr"] = 1e-2
        expected.step()
        expected.zero_grad()
    for ours, theirs in zip(model.parameters(), peer.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_decay_falls_on_matrices_alone(kind: str) -> None:
    groups = ModelOptimizer(network(), settings(kind, weight_decay=0.1)).groups
    assert {group["weight_decay"]: {weight.dim() for weight in group["params"]} for group in groups} == {
        0.1: {2},
        0.0: {1},
    }
    assert sum(len(group["params"]) for group in groups) == len(list(network().parameters()))


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_clipping_inside_is_clipping_before(kind: str) -> None:
    results = []
    for inside in (True, False):
        model = network()
        optimizer = ModelOptimizer(model, settings(kind))
        for number in range(4):
            norm = backward(model, number)
            clip = 0.5 if number % 2 else 1e6  # one that shortens, one that does not
            if not inside:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.update(1e-2, norm, torch.tensor(True), clip if inside else None)
        results.append([weight.detach() for weight in model.parameters()])
    for ours, expected in zip(*results, strict=True):
        # Muon computes in bf16, where the last bit of a scale may tip a rounding.
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-7 if kind == "adamw" else 1e-4)


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_an_update_that_is_not_finite_leaves_everything_as_it_is(kind: str) -> None:
    model = network()
    optimizer = ModelOptimizer(model, settings(kind, weight_decay=0.1))
    steps(model, optimizer, 2)
    weights = [weight.detach().clone() for weight in model.parameters()]
    state = {name: tensor.clone() for name, tensor in optimizer.tensors().items()}
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, float("nan"))
    optimizer.update(1e-2, torch.tensor(float("nan")), torch.tensor(False), 1.0)
    assert all(torch.equal(now, before) for now, before in zip(model.parameters(), weights, strict=True))
    for name, tensor in optimizer.tensors().items():
        assert torch.equal(tensor, state[name]), name
    assert all(weight.grad is None for weight in model.parameters())


@pytest.mark.parametrize("activation", ["relu", "swiglu"])
def test_muon_orthogonalizes_the_matrices_of_the_blocks_and_no_others(activation: str) -> None:
    torch.manual_seed(0)
    sizes = ModelConfig(d_model=8, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=16, max_positions=16)
    model = Transformer(sizes.model_copy(update={"activation": activation}), 11, 11)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    gradients = {name: torch.randn_like(weight) for name, weight in model.named_parameters()}
    updated = {}
    for kind in ("adamw", "muon"):
        model.load_state_dict(before)
        for name, weight in model.named_parameters():
            weight.grad = gradients[name].clone()
        ModelOptimizer(model, settings(kind)).update(0.5, torch.tensor(1.0), torch.tensor(True), None)
        updated[kind] = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    of_muon = {name for name in before if not torch.equal(updated["adamw"][name], updated["muon"][name])}
    assert of_muon == {name for name in before if name.startswith(("encoder.", "decoder.")) and before[name].dim() == 2}
    assert len(of_muon) == 4 + 7
    for name in of_muon:
        # Queries, keys and values are three matrices in one, keys and values two, and so are a gate and what it gates.
        gated = activation == "swiglu" and "inner" in name
        count = 3 if "query_key_value" in name else 2 if gated or "key_value" in name else 1
        chunks = zip(*(of[name].chunk(count) for of in (before, updated["muon"], gradients)), strict=True)
        for old, new, gradient in chunks:
            moved = (old - new) / (0.5 * 0.2 * max(old.shape) ** 0.5)
            left, _, right = torch.linalg.svd(gradient, full_matrices=False)
            # Five iterations come near the orthonormal factor left · right, not to it: values around 1.
            along = (left.T @ moved @ right.T).diagonal()
            assert along.min() > 0.3, name
            assert along.max() < 1.4, name
