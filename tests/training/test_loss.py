"""Losses and their hand-written gradients against torch's own; teacher forcing, R-Drop, and bf16."""

from functools import partialmethod
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_model import small_batch, small_model
from tiny_runs import run
from torch import Tensor, nn

from translator.special_tokens import PAD
from translator.training.loss import (
    TeacherForcing,
    label_smoothed_loss,
    log_probabilities,
    projected_loss,
    symmetric_divergence,
)


@settings(max_examples=40, deadline=None)
@given(tokens=st.integers(1, 8), vocabulary=st.integers(2, 30), smoothing=st.sampled_from([0.0, 0.1, 0.5]))
@example(tokens=1030, vocabulary=11, smoothing=0.1)
def test_value_and_gradient_equal_cross_entropy(tokens: int, vocabulary: int, smoothing: float) -> None:
    """Padding adds neither loss nor gradient; 1,030 tokens are more than are computed at a time."""
    generator = torch.Generator().manual_seed(tokens)
    states = torch.randn(tokens, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    head = 3 * torch.randn(vocabulary, 6, generator=generator, dtype=torch.float64)
    head.requires_grad_()
    labels = torch.randint(0, vocabulary, (tokens,), generator=generator)  # 0 is PAD
    oracle = F.cross_entropy(states @ head.T, labels, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
    plain = F.cross_entropy(states @ head.T, labels, ignore_index=PAD, reduction="none").detach().float()
    expected = torch.autograd.grad(oracle / 7, (states, head))
    fused, unfused = (
        projected_loss(states, head, labels, smoothing),
        label_smoothed_loss(states @ head.T, labels, smoothing),
    )
    for loss in (fused, unfused):
        torch.testing.assert_close(loss.smoothed, oracle)
        torch.testing.assert_close(loss.of_tokens, plain)
        for gradient, theirs in zip(torch.autograd.grad(loss.smoothed / 7, (states, head)), expected, strict=True):
            torch.testing.assert_close(gradient, theirs)


@settings(max_examples=40, deadline=None)
@given(tokens=st.integers(1, 6), vocabulary=st.integers(2, 40), scale=st.sampled_from([0.1, 1.0, 10.0]))
def test_the_divergence_equals_its_definition(tokens: int, vocabulary: int, scale: float) -> None:
    logits = scale * torch.randn(2 * tokens, vocabulary, generator=torch.Generator().manual_seed(tokens))
    labels = torch.ones(2 * tokens, dtype=torch.int64)
    labels[[0, tokens]] = PAD
    divergence = symmetric_divergence(log_probabilities(logits), labels)
    p, q = (of_pass[1:] for of_pass in F.log_softmax(logits.double(), dim=-1).chunk(2))
    forwards, backwards = (F.kl_div(*both, reduction="sum", log_target=True) for both in ((q, p), (p, q)))
    torch.testing.assert_close(divergence.double(), 0.5 * (forwards + backwards), rtol=1e-4, atol=1e-6)


def test_divergence_is_zero_for_equal_passes_and_finite_for_extreme_ones() -> None:
    one = torch.randn(5, 30)
    agreeing = torch.cat((one, one + 7.0)).requires_grad_()  # softmax ignores a constant added to all logits
    extreme = torch.tensor([[1000.0, 0.0, -1000.0], [-1000.0, 0.0, 1000.0]], requires_grad=True)
    for logits, expected in ((agreeing, 0.0), (extreme, 2000.0)):
        divergence = symmetric_divergence(log_probabilities(logits), torch.ones(len(logits)))
        torch.autograd.backward(divergence)
        assert 0 <= divergence.item() == pytest.approx(expected, abs=1e-6)
        assert logits.grad is not None and bool(logits.grad.isfinite().all())
    assert agreeing.grad is not None and agreeing.grad.abs().max() < 1e-5


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_teacher_forcing_is_cross_entropy_of_the_models_logits(packed: bool, smoothing: float) -> None:
    source, target_input, labels = small_batch()
    model = small_model(dropout=0.0)
    losses = TeacherForcing(model, smoothing, 0.0, packed)(source, target_input, labels)
    logits = model(source, target_input).flatten(0, 1)
    oracle = F.cross_entropy(logits, labels.flatten(), ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(losses.smoothed, oracle, rtol=1e-5, atol=1e-5)
    plain = F.cross_entropy(logits, labels.flatten(), ignore_index=PAD, reduction="none").view_as(labels)
    torch.testing.assert_close(losses.of_sentences, plain.sum(1).detach(), rtol=1e-5, atol=1e-5)


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The graphs that torch.compile makes of modules."""
    found: list[Any] = []

    def backend(graph: Any, _: object) -> Any:
        found.append(graph)
        return graph.forward

    monkeypatch.setattr(nn.Module, "compile", partialmethod(nn.Module.compile, backend=backend))
    return found


def test_one_graph_serves_all_compiled_layers_of_a_stack_and_all_shapes(graphs: list[Any]) -> None:
    plain, compiled = (TeacherForcing(small_model(dropout=0.0), 0.1, 0.0, False, kind) for kind in (False, True))
    for rows, *lengths in ((5, 5, 5, 5), (4, 9, 6, 6), (3, 6, 8, 8)):
        batch = [torch.randint(4, 10, (rows, length)) for length in lengths]
        torch.testing.assert_close(compiled(*batch).smoothed, plain(*batch).smoothed)
    assert len(graphs) == 2


def test_validation_compiles_nothing(graphs: list[Any], tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.training.precision._compilation", lambda *_: (True, "for this test"))
    run(tiny("model.dropout=0", "training.max_steps=4", "training.validate_every=2"))
    assert len(graphs) == 2


@pytest.mark.parametrize("packed", [False, True])
def test_r_drop_changes_nothing_without_dropout(packed: bool) -> None:
    found = []
    for r_drop in (0.0, 5.0):
        model = small_model(dropout=0.0)
        losses = TeacherForcing(model, 0.1, r_drop, packed)(*small_batch())
        torch.autograd.backward(losses.smoothed)
        gradients = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
        found.append(gradients | {"sentences": losses.of_sentences})
    for name, gradient in found[0].items():
        torch.testing.assert_close(found[1][name], gradient, rtol=1e-4, atol=1e-4, msg=name)


def test_r_drop_penalizes_disagreement_and_runs_twice_only_in_training() -> None:
    costs = []
    for r_drop in (1e-9, 3.0):
        loss = TeacherForcing(small_model(dropout=0.3), 0.1, r_drop, packed=True)
        torch.manual_seed(5)
        costs.append(loss(*small_batch()).smoothed.item())
    assert costs[1] > costs[0] + 0.01
    seen: list[int] = []
    loss.model.source_embedding.register_forward_pre_hook(lambda _, tokens: seen.append(len(tokens[0])))
    for training in (False, True):  # in evaluation mode, without dropout, one pass is enough
        loss.model.train(training)
        loss(*small_batch())
    assert seen == [2, 4]


SWITCHES: dict[str, tuple[dict[str, object], float]] = {
    "plain": ({}, 0.0),
    "r-drop": ({}, 5.0),
    "attention dropout": ({"attention_dropout": 0.1}, 0.0),
    "feed-forward dropout, untied": ({"feed_forward_dropout": 0.1, "tied_embeddings": "none"}, 0.0),
    "post-norm, r-drop": ({"norm": "post"}, 5.0),
    "swiglu, learned positions": ({"activation": "swiglu", "positions": "learned"}, 0.0),
    "rotary positions": ({"positions": "rotary"}, 1.0),
}


@pytest.mark.parametrize(("changes", "r_drop"), SWITCHES.values(), ids=SWITCHES.keys())
def test_bf16_gradients_match_float32_and_are_finite_with_dropout(changes: dict[str, object], r_drop: float) -> None:
    model = small_model(**({"dropout": 0.1} | changes))
    loss = TeacherForcing(model, 0.1, r_drop, packed=True)

    def gradient(bf16: bool) -> Tensor:
        model.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            smoothed = loss(*small_batch()).smoothed
        torch.autograd.backward(smoothed)
        assert smoothed.dtype == torch.float32
        return torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None])

    model.eval()  # no dropout: its noise would differ
    exact, rounded = gradient(False), gradient(True)
    assert not torch.equal(rounded, exact) and torch.cosine_similarity(rounded, exact, dim=0) > 0.99
    model.train()
    noisy = gradient(True)
    assert bool(noisy.isfinite().all()) and noisy.abs().max() > 0
