"""AdamW and Muon against torch's own, exact resumption, the moving average, the start of learning, the schedules."""

import math
from collections import OrderedDict

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from translator.config import ModelConfig, TrainingConfig
from translator.model import Transformer
from translator.special_tokens import SOS
from translator.training.optimizer import (
    COSINE_FLOOR,
    ITERATIONS,
    STEADY,
    LossScale,
    ModelOptimizer,
    Muon,
    learning_rate,
    moving_average,
    near_orthonormal,
)


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(OrderedDict(encoder=nn.Linear(4, 8), norm=nn.LayerNorm(8), decoder=nn.Linear(8, 2)))


def settings(optimizer: str, **more: float) -> TrainingConfig:
    return TrainingConfig.model_validate({"optimizer": optimizer, **more})


def backward(model: nn.Module, number: int) -> Tensor:
    """Give the weights a gradient that depends on `number`, and return its norm."""
    inputs = torch.randn(5, 4, generator=torch.Generator().manual_seed(number))
    model(inputs).square().sum().backward()
    return nn.utils.get_total_norm([weight.grad for weight in model.parameters() if weight.grad is not None])


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_weight_decay_applies_to_matrices_only(kind: str) -> None:
    groups = ModelOptimizer(network(), settings(kind, weight_decay=0.1)).groups
    decays = {group["weight_decay"]: {weight.dim() for weight in group["params"]} for group in groups}
    assert decays == {0.1: {2}, 0.0: {1}}
    assert sum(len(group["params"]) for group in groups) == len(list(network().parameters()))


def updated(kind: str, scaled: bool, inside: bool) -> list[Tensor]:
    """Return the weights after four updates, every other one clipped, inside the update or beforehand."""
    model = network()
    optimizer = ModelOptimizer(model, settings(kind), LossScale(torch.device("cpu")) if scaled else None)
    for number in range(4):
        norm, clip = backward(model, number), 0.5 if number % 2 else 1e6
        if not inside:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        for gradient in optimizer.gradients:
            gradient.mul_(optimizer.scale)
        optimizer.update(1e-2, norm, torch.tensor(True), clip if inside else None)
    return [weight.detach() for weight in model.parameters()]


@pytest.mark.parametrize(("scaled", "inside"), [(False, True), (True, False), (True, True)])
@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_a_scaled_loss_and_clipping_inside_make_the_same_updates(kind: str, scaled: bool, inside: bool) -> None:
    for ours, expected in zip(updated(kind, scaled, inside), updated(kind, False, False), strict=True):
        # Muon computes in bf16, where the last bit of a scale may tip a rounding.
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-7 if kind == "adamw" else 1e-4)


def test_loss_scale_halves_on_overflow_grows_when_steady_and_is_restored() -> None:
    scale = LossScale(torch.device("cpu"))
    optimizer = ModelOptimizer(network(), settings("adamw"), scale)
    first, finite = float(optimizer.scale), torch.tensor(True)
    scale.adapt(~finite)
    assert optimizer.scale == first / 2
    for _ in range(STEADY - 1):
        scale.adapt(finite)
    assert optimizer.scale == first / 2
    again = ModelOptimizer(network(), settings("adamw"), LossScale(torch.device("cpu")))
    again.restore(optimizer.tensors())
    again.update(1e-2, backward(network(), 1), finite, None)
    assert again.scale == first, "the next finite update is the last that it waited for"
    ModelOptimizer(network(), settings("adamw")).restore(again.tensors())  # a run may continue in float32


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_a_nonfinite_update_changes_neither_weights_nor_optimizer_state(kind: str) -> None:
    model = network()
    optimizer = ModelOptimizer(model, settings(kind, weight_decay=0.1))
    for number in range(2):
        optimizer.update(1e-2, backward(model, number), torch.tensor(True), None)
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
        # A weight may stack matrices: queries, keys and values three; keys and values two; a gate and its input two.
        gated = activation == "swiglu" and "inner" in name
        count = 3 if "query_key_value" in name else 2 if gated or "key_value" in name else 1
        chunks = zip(*(of[name].chunk(count) for of in (before, updated["muon"], gradients)), strict=True)
        for old, new, gradient in chunks:
            moved = (old - new) / (0.5 * 0.2 * max(old.shape) ** 0.5)
            left, values, right = torch.linalg.svd(gradient, full_matrices=False)
            # Three iterations only approximate the orthonormal factor left · right: all but tiny values are around 1.
            along = (left.T @ moved @ right.T).diagonal()
            assert along.max() < 1.4 and along[values > 0.02 * values.norm()].min() > 0.5, name


SHAPES = [(8, 8), (24, 8), (8, 24), (16, 4), (8, 8), (4, 16), (24, 8)]


def matrices(seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in SHAPES]


@pytest.mark.parametrize("pays", [True, False])
def test_muon_agrees_with_torchs_muon(pays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in float32, which ours uses where bf16 is slower; torch's Muon always rounds to bf16."""
    seen: list[torch.dtype] = []

    def noted(stack: Tensor, precision: torch.dtype) -> Tensor:
        seen.append(precision)
        return near_orthonormal(stack, precision)

    monkeypatch.setattr("translator.training.optimizer.bf16_pays", lambda device: pays)
    monkeypatch.setattr("translator.training.optimizer.near_orthonormal", noted)
    allowed = 0.02 if pays else 0.04  # if both round to bf16, much of the error is common
    ours, theirs = ([weight.requires_grad_() for weight in matrices(0)] for _ in range(2))
    optimizer = Muon([{"params": ours, "lr": 0.1, "weight_decay": 0.1}])
    peer = torch.optim.Muon(theirs, lr=0.1, weight_decay=0.1, adjust_lr_fn="match_rms_adamw", ns_steps=ITERATIONS)
    for number in range(5):
        for some in (ours, theirs):
            for weight, gradient in zip(some, matrices(number + 1), strict=True):
                weight.grad = gradient
        rate = 0.1 / (number + 1)
        optimizer.param_groups[0]["lr"] = peer.param_groups[0]["lr"] = rate
        optimizer.step()
        peer.step()  # type: ignore[no-untyped-call]
        for mine, other in zip(ours, theirs, strict=True):
            # One or both round to bf16, at different points; the root mean square of an update is 0.2 times the rate.
            torch.testing.assert_close(mine, other, rtol=0.0, atol=allowed * rate * (number + 1))
            moments = optimizer.state[mine]["momentum_buffer"], peer.state[other]["momentum_buffer"]
            torch.testing.assert_close(*moments)
    assert set(seen) == {torch.bfloat16 if pays else torch.float32}


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
    model = Transformer(DEEP.model_copy(update={"norm": norm, "tied_embeddings": tied}), VOCABULARY, VOCABULARY)
    settings = TrainingConfig(learning_rate=1e-3, warmup_steps=15, max_steps=25)
    optimizer = ModelOptimizer(model, settings)
    losses = []
    for step in range(1, settings.max_steps + 1):
        words = torch.randint(4, VOCABULARY, (32, 1))
        logits = model(words.repeat(1, 3), torch.full((32, 1), SOS))  # (32, 1, V)
        loss = F.cross_entropy(logits.flatten(0, 1), words.flatten())
        torch.autograd.backward(loss)
        optimizer.update(learning_rate(step, settings), torch.tensor(1.0), torch.tensor(True), None)
        losses.append(loss.item())
    assert math.log(VOCABULARY) - 0.3 < losses[0] < math.log(VOCABULARY) + surplus
    assert sum(losses[-3:]) / 3 < 0.3


@torch.no_grad()
def test_the_moving_average_follows_its_formula_and_keeps_tied_weights_tied() -> None:
    torch.manual_seed(0)
    model = Transformer(DEEP.model_copy(update={"tied_embeddings": "all"}), VOCABULARY, VOCABULARY)
    average, expected = moving_average(model, 0.9), torch.zeros(VOCABULARY, DEEP.d_model)
    assert isinstance(average.module, Transformer)
    for number in range(100):
        model.head_weight.add_(torch.randn(VOCABULARY, DEEP.d_model))
        average.update_parameters(model)
        decay = min(0.9, (1 + number) / (10 + number)) if number else 0.0
        expected.lerp_(model.head_weight, 1 - decay)
        torch.testing.assert_close(average.module.head_weight.data, expected, rtol=1e-4, atol=1e-5)
    assert average.module.state_dict().keys() == model.state_dict().keys()
    assert average.module.head_weight is average.module.source_embedding.tokens.weight


def scheduled(schedule: str, warmup: int = 100, steps: int = 1000, **more: object) -> TrainingConfig:
    keys = {"schedule": schedule, "warmup_steps": warmup, "max_steps": steps, "learning_rate": 1e-3}
    return TrainingConfig.model_validate(keys | more)


def test_inverse_sqrt_schedule_matches_vaswani_et_al() -> None:
    """Their rate is D^-½ · min(step^-½, step · warmup^-1.5) (§5.3), with a peak of (D · warmup)^-½."""
    warmup, d_model = 4000, 512
    settings = TrainingConfig(learning_rate=(d_model * warmup) ** -0.5, warmup_steps=warmup)
    for step in (1, 100, 3999, 4000, 4001, 25_000, 100_000):
        expected = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert learning_rate(step, settings) == pytest.approx(expected, rel=1e-12)
    assert TrainingConfig().learning_rate == round(settings.learning_rate, 4) == 7e-4


def test_cosine_warms_up_linearly_and_falls_to_its_floor() -> None:
    rates = [learning_rate(step, scheduled("cosine")) / 1e-3 for step in (1, 50, 100, 550, 1000, 5000)]
    assert rates == pytest.approx([0.01, 0.5, 1, (1 + COSINE_FLOOR) / 2, COSINE_FLOOR, COSINE_FLOOR])


BY_MINUTES = scheduled("cosine", schedule_clock="minutes", max_minutes=10.0)


def test_cosine_by_minutes_ends_on_time_on_a_slow_machine() -> None:
    """After 500 steps, a machine of half the planned speed is where the plan is after 1,000."""
    slow, planned = BY_MINUTES, scheduled("cosine")
    assert learning_rate(500, slow, 600.0) == pytest.approx(1e-3 * COSINE_FLOOR)
    for step in range(100, 501, 50):
        assert learning_rate(step, slow, 1.2 * step) == pytest.approx(learning_rate(2 * step, planned))
    assert learning_rate(300, slow, 0.6 * 800) == learning_rate(800, planned)  # the rate follows the clock
    assert learning_rate(500, planned, 600.0) == learning_rate(500, planned)  # a schedule by steps ignores the time


@given(st.integers(1, 1000), st.floats(0.0, 1.0))
def test_cosine_by_minutes_equals_cosine_by_steps_on_a_fast_machine(step: int, lead: float) -> None:
    seconds = 0.6 * step * lead
    assert learning_rate(step, BY_MINUTES, seconds) == learning_rate(step, scheduled("cosine"))


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "constant"])
@given(warmup=st.integers(0, 50), steps=st.integers(1, 300), step=st.integers(1, 500))
def test_the_rate_is_positive_and_never_above_the_peak(schedule: str, warmup: int, steps: int, step: int) -> None:
    config = scheduled(schedule, max(warmup, int(schedule == "inverse_sqrt")), steps)
    rate = learning_rate(step, config)
    assert 0 < rate <= 1e-3 * (1 + 1e-12)
    assert step <= warmup or learning_rate(step + 1, config) <= rate
