"""The optimizer of a model: clipping, loss scale, skipped updates, exact resumption, and the start of learning."""

import copy
import math
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from tests.support.tiny_runs import assert_same_bits
from translator.config import ModelConfig, TrainingConfig
from translator.model import Transformer
from translator.special_tokens import SOS
from translator.training.loss_scale import STEADY, LossScale
from translator.training.optimizer import ModelOptimizer
from translator.training.schedule import learning_rate

CPU = torch.device("cpu")
FINITE = torch.tensor(True)
NAN = float("nan")
KINDS = pytest.mark.parametrize("kind", ["adamw", "muon"])


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(OrderedDict(encoder=nn.Linear(4, 8), norm=nn.LayerNorm(8), decoder=nn.Linear(8, 2)))


def settings(optimizer: str, **more: float) -> TrainingConfig:
    return TrainingConfig.model_validate({"optimizer": optimizer, **more})


def gradients_of(model: nn.Module) -> list[Tensor]:
    return [weight.grad for weight in model.parameters() if weight.grad is not None]


def backward(model: nn.Module, number: int) -> Tensor:
    """Give the weights a gradient that depends on `number`, and return its norm."""
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(number)
    inputs = torch.randn(5, 4, generator=generator).to(device)
    model(inputs).square().sum().backward()
    return nn.utils.get_total_norm(gradients_of(model))


def make_update(model: nn.Module, optimizer: ModelOptimizer, number: int) -> None:
    optimizer.update(1e-2, backward(model, number), FINITE, None)
    model.zero_grad()


def moments_of(optimizer: ModelOptimizer) -> dict[str, Tensor]:
    """Return what a checkpoint holds of the optimizer, without the state of its loss scale."""
    return {name: tensor for name, tensor in optimizer.tensors().items() if "loss_scale" not in name}


def spoil_gradients(model: nn.Module, value: float) -> None:
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, value)


@KINDS
def test_weight_decay_applies_to_matrices_only(kind: str) -> None:
    groups = ModelOptimizer(network(), settings(kind, weight_decay=0.1)).groups
    dimensions: dict[float, list[int]] = {0.1: [], 0.0: []}
    for group in groups:
        dimensions[group["weight_decay"]] += [weight.dim() for weight in group["params"]]
    assert dimensions == {0.1: [2, 2], 0.0: [1, 1, 1, 1]}


def updated(kind: str, scaled: bool, inside: bool) -> list[Tensor]:
    """Return the weights after four updates, every other one clipped, inside the update or beforehand."""
    model = network()
    optimizer = ModelOptimizer(model, settings(kind), LossScale(CPU) if scaled else None)
    for number in range(4):
        norm = backward(model, number)
        clip = 0.5 if number % 2 else 1e6
        if not inside:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        for gradient in gradients_of(model):
            gradient.mul_(optimizer.scale)
        optimizer.update(1e-2, norm, FINITE, clip if inside else None)
        model.zero_grad()
    return [weight.detach() for weight in model.parameters()]


@pytest.mark.parametrize(("scaled", "inside"), [(False, True), (True, False), (True, True)])
@KINDS
def test_a_scaled_loss_and_clipping_inside_make_the_same_updates(kind: str, scaled: bool, inside: bool) -> None:
    plain_weights = updated(kind, scaled=False, inside=False)
    for weight, expected in zip(updated(kind, scaled, inside), plain_weights, strict=True):
        # Muon computes in bf16, where the last bit of a scale may tip a rounding.
        torch.testing.assert_close(weight, expected, rtol=1e-5, atol=1e-7 if kind == "adamw" else 1e-4)


def test_the_loss_scale_is_restored() -> None:
    # A scale that was lowered, and will be raised at the next finite update.
    scale = LossScale(CPU)
    optimizer = ModelOptimizer(network(), settings("adamw"), scale)
    scale.adapt(~FINITE)
    for _ in range(STEADY - 1):
        scale.adapt(FINITE)

    model = network()
    restored = ModelOptimizer(model, settings("adamw"), LossScale(CPU))
    restored.restore(optimizer.tensors())
    assert restored.scale == optimizer.scale
    make_update(model, restored, 1)
    assert restored.scale == 2 * optimizer.scale, "the next finite update is the last that it waited for"


def test_a_run_may_continue_without_its_loss_scale() -> None:
    model = network()
    scaled = ModelOptimizer(model, settings("adamw"), LossScale(CPU))
    make_update(model, scaled, 1)
    plain = ModelOptimizer(network(), settings("adamw"))
    plain.restore(scaled.tensors())
    assert_same_bits(plain.tensors(), moments_of(scaled))


@KINDS
def test_updates_after_a_restoration_have_the_same_bits(kind: str) -> None:
    model = network()
    optimizer = ModelOptimizer(model, settings(kind))
    make_update(model, optimizer, 1)

    restored_model = network()
    restored_model.load_state_dict(model.state_dict())
    restored = ModelOptimizer(restored_model, settings(kind))
    restored.restore({name: tensor.clone() for name, tensor in optimizer.tensors().items()})

    make_update(model, optimizer, 2)
    make_update(restored_model, restored, 2)
    assert_same_bits(restored_model.state_dict(), model.state_dict())


@pytest.mark.parametrize("value", [NAN, math.inf])
@pytest.mark.parametrize("scaled", [False, True])
@KINDS
def test_a_nonfinite_update_changes_neither_weights_nor_optimizer_state(kind: str, scaled: bool, value: float) -> None:
    model = network()
    optimizer = ModelOptimizer(model, settings(kind, weight_decay=0.1), LossScale(CPU) if scaled else None)
    for number in range(2):
        make_update(model, optimizer, number)
    weights = copy.deepcopy(model.state_dict())
    moments = copy.deepcopy(moments_of(optimizer))
    assert moments

    spoil_gradients(model, value)
    optimizer.update(1e-2, torch.tensor(value), ~FINITE, 1.0)
    assert_same_bits(model.state_dict(), weights)
    assert_same_bits(moments_of(optimizer), moments)


@KINDS
def test_a_skipped_update_leaves_no_trace_in_the_next_one(kind: str) -> None:
    """Also if it is the first, which creates the moments."""
    model = network()
    optimizer = ModelOptimizer(model, settings(kind, weight_decay=0.1))
    for number in range(3):
        spoil_gradients(model, NAN)
        optimizer.update(1e-2, torch.tensor(NAN), ~FINITE, 1.0)
        model.zero_grad()
        make_update(model, optimizer, number)

    undisturbed_model = network()
    undisturbed = ModelOptimizer(undisturbed_model, settings(kind, weight_decay=0.1))
    for number in range(3):
        make_update(undisturbed_model, undisturbed, number)

    assert_same_bits(model.state_dict(), undisturbed_model.state_dict())
    assert_same_bits(optimizer.tensors(), undisturbed.tensors())


class NoHostReads(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Fails where Python reads the value of a tensor, for which a GPU would have to finish its work."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert function is not torch.ops.aten._local_scalar_dense.default, "the host reads a tensor"
        return function(*args, **kwargs or {})


@contextmanager
def no_synchronization(device: torch.device) -> Iterator[None]:
    """Fail on a host read; on a GPU, on anything that waits for it."""
    if device.type == "cuda":
        torch.cuda.set_sync_debug_mode("error")
    try:
        with NoHostReads():  # type: ignore[no-untyped-call]
            yield
    finally:
        if device.type == "cuda":
            torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("read", [bool, float, Tensor.item])
def test_a_host_read_is_detected(read: Any) -> None:
    with pytest.raises(AssertionError, match="the host reads a tensor"), no_synchronization(CPU):
        read(torch.tensor(1.0))


@pytest.mark.parametrize("device", ["cpu", *["cuda"] * torch.cuda.is_available()])
@pytest.mark.parametrize("scaled", [False, True])
@KINDS
def test_an_update_does_not_synchronize(kind: str, scaled: bool, device: str) -> None:
    place = torch.device(device)
    model = network().to(place)
    optimizer = ModelOptimizer(model, settings(kind, weight_decay=0.1), LossScale(place) if scaled else None)
    for number in range(2):
        norm = backward(model, number)
        finite = torch.isfinite(norm)
        with no_synchronization(place):
            optimizer.update(1e-2, norm, finite, 1.0)
            model.zero_grad()


@KINDS
def test_an_update_keeps_the_gradients_in_their_memory(kind: str) -> None:
    model = network()
    optimizer = ModelOptimizer(model, settings(kind), LossScale(CPU))
    norm = backward(model, 1)
    addresses = [gradient.data_ptr() for gradient in gradients_of(model)]
    optimizer.update(1e-2, norm, FINITE, 1.0)
    assert [gradient.data_ptr() for gradient in gradients_of(model)] == addresses


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
    sizes = ModelConfig(d_model=8, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=16, max_positions=16)
    model = Transformer(sizes.model_copy(update={"activation": request.param}), 11, 11)
    before = copied_weights(model)
    gradients = {name: torch.randn_like(weight) for name, weight in before.items()}

    def updated(kind: str) -> dict[str, Tensor]:
        model.load_state_dict(before)
        for name, weight in model.named_parameters():
            weight.grad = gradients[name].clone()
        ModelOptimizer(model, settings(kind)).update(0.5, torch.tensor(1.0), FINITE, None)
        return copied_weights(model)

    return OneUpdate(
        activation=request.param,
        before=before,
        gradients=gradients,
        by_adamw=updated("adamw"),
        by_muon=updated("muon"),
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


VOCABULARY = 20
DEEP = ModelConfig(
    d_model=64, heads=4, encoder_layers=6, decoder_layers=6, feed_forward=128, dropout=0.0, max_positions=16
)


# A tied head first favours the token just read, which is always SOS here and never the right answer.
@pytest.mark.parametrize(("tied", "surplus"), [("none", 0.7), ("target", 2.0)])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_twelve_layers_start_near_chance_loss_and_learn_during_warmup(norm: str, tied: str, surplus: float) -> None:
    """The target is the word that the source repeats; only a path through all twelve layers can carry it."""
    torch.manual_seed(1)
    config = DEEP.model_copy(update={"norm": norm, "tied_embeddings": tied})
    model = Transformer(config, VOCABULARY, VOCABULARY)
    settings = TrainingConfig(learning_rate=1e-3, warmup_steps=15, max_steps=25)
    optimizer = ModelOptimizer(model, settings)

    losses = []
    for step in range(1, settings.max_steps + 1):
        words = torch.randint(4, VOCABULARY, (32, 1))
        source = words.repeat(1, 3)
        target_input = torch.full((32, 1), SOS)
        logits = model(source, target_input)  # (32, 1, V)
        loss = F.cross_entropy(logits.flatten(0, 1), words.flatten())
        torch.autograd.backward(loss)
        rate = learning_rate(step, settings)
        optimizer.update(rate, torch.tensor(1.0), FINITE, None)
        model.zero_grad()
        losses.append(loss.item())

    chance_loss = math.log(VOCABULARY)
    assert chance_loss - 0.3 < losses[0] < chance_loss + surplus
    assert sum(losses[-3:]) / 3 < 0.3
