"""Losses and their hand-written gradients against torch's own; teacher forcing, R-Drop, and bf16."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.support.small_model import random_pairs, rows_of, small_model
from translator.data import Batch
from translator.special_tokens import PAD
from translator.training.blockwise_loss import blockwise_head_loss
from translator.training.loss import (
    HeadLoss,
    TeacherForcing,
    head_loss,
    log_probabilities,
    r_drop_loss,
    symmetric_divergence,
)

HEAD_LOSSES: dict[str, HeadLoss] = {"blockwise": blockwise_head_loss, "automatic": head_loss}
BATCH: Batch = rows_of(random_pairs(7), pairs_a_row=3)


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

    # The objective is smoothed, the losses of tokens are not. The divisor 7 stands for tokens of a whole update.
    logits = states @ head.T
    objective = F.cross_entropy(logits, labels, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
    token_losses = F.cross_entropy(logits, labels, ignore_index=PAD, reduction="none")
    gradients = torch.autograd.grad(objective / 7, (states, head))

    for function in HEAD_LOSSES.values():
        loss = function(states, head, labels, smoothing)
        torch.testing.assert_close(loss.objective, objective)
        torch.testing.assert_close(loss.of_tokens, token_losses.detach().float())
        loss_gradients = torch.autograd.grad(loss.objective / 7, (states, head))
        torch.testing.assert_close(loss_gradients, gradients)


@settings(max_examples=40, deadline=None)
@given(tokens=st.integers(1, 6), vocabulary=st.integers(2, 40), scale=st.sampled_from([0.1, 1.0, 10.0]))
def test_the_divergence_equals_its_definition(tokens: int, vocabulary: int, scale: float) -> None:
    """Half of KL(p‖q) + KL(q‖p), summed over the tokens that are not padding."""
    generator = torch.Generator().manual_seed(tokens)
    first_logits = scale * torch.randn(tokens, vocabulary, generator=generator)
    second_logits = scale * torch.randn(tokens, vocabulary, generator=generator)
    labels = torch.ones(tokens, dtype=torch.int64)
    labels[0] = PAD
    divergence = symmetric_divergence(log_probabilities(first_logits), log_probabilities(second_logits), labels)

    log_p = F.log_softmax(first_logits[1:].double(), dim=-1)
    log_q = F.log_softmax(second_logits[1:].double(), dim=-1)
    forwards = F.kl_div(log_q, log_p, reduction="sum", log_target=True)  # KL(p‖q)
    backwards = F.kl_div(log_p, log_q, reduction="sum", log_target=True)  # KL(q‖p)
    expected = 0.5 * (forwards + backwards)
    torch.testing.assert_close(divergence.double(), expected, rtol=1e-4, atol=1e-6)


def test_divergence_is_zero_for_equal_passes() -> None:
    logits = torch.randn(5, 30, requires_grad=True)
    labels = torch.ones(5, dtype=torch.int64)
    # Softmax ignores a constant that is added to all logits.
    divergence = symmetric_divergence(log_probabilities(logits), log_probabilities(logits + 7.0), labels)
    (gradient,) = torch.autograd.grad(divergence, logits)
    assert divergence.item() == pytest.approx(0.0, abs=1e-6)
    assert gradient.abs().max() < 1e-5


def test_divergence_is_finite_for_extreme_passes() -> None:
    first_logits = torch.tensor([[1000.0, 0.0, -1000.0]], requires_grad=True)
    second_logits = torch.tensor([[-1000.0, 0.0, 1000.0]])
    labels = torch.ones(1, dtype=torch.int64)
    divergence = symmetric_divergence(log_probabilities(first_logits), log_probabilities(second_logits), labels)
    (gradient,) = torch.autograd.grad(divergence, first_logits)
    # Each pass is certain of a token to which the other gives a log-probability of -2000.
    assert divergence.item() == pytest.approx(2000.0)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("kind", HEAD_LOSSES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_teacher_forcing_is_cross_entropy_of_the_models_logits(kind: str, smoothing: float) -> None:
    model = small_model(dropout=0.0)
    teacher_forcing = TeacherForcing(model, smoothing, r_drop=0.0, head_loss=HEAD_LOSSES[kind])
    losses = teacher_forcing(BATCH)

    logits = model.project(model.states(BATCH)).flatten(0, 1)  # (R L, V)
    labels = BATCH.labels.flatten()
    objective = F.cross_entropy(logits, labels, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(losses.objective, objective, rtol=1e-5, atol=1e-5)
    token_losses = F.cross_entropy(logits, labels, ignore_index=PAD, reduction="none")
    token_losses = token_losses.detach().view_as(BATCH.labels)
    torch.testing.assert_close(losses.of_tokens, token_losses, rtol=1e-5, atol=1e-5)


def test_the_loss_does_not_depend_on_how_many_positions_are_computed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    states = torch.randn(14, 6, dtype=torch.float64)  # of two passes over 7 positions
    head = torch.randn(9, 6, dtype=torch.float64)
    labels = torch.tensor([1, 2, 3, 4, 5, 6, PAD])
    whole = r_drop_loss(states, head, labels, 0.1, 3.0)
    monkeypatch.setattr("translator.training.loss.POSITIONS_AT_ONCE", 2)
    in_blocks = r_drop_loss(states, head, labels, 0.1, 3.0)
    torch.testing.assert_close(in_blocks, whole)


def test_r_drop_changes_nothing_without_dropout() -> None:
    objectives = []
    for r_drop in (0.0, 5.0):
        loss = TeacherForcing(small_model(dropout=0.0), 0.1, r_drop, blockwise_head_loss)
        objectives.append(loss(BATCH).objective.item())
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-5)


def test_r_drop_penalizes_disagreement() -> None:
    objectives = []
    for r_drop in (1e-9, 3.0):
        loss = TeacherForcing(small_model(dropout=0.3), 0.1, r_drop, blockwise_head_loss)
        torch.manual_seed(5)
        objectives.append(loss(BATCH).objective.item())
    assert objectives[1] > objectives[0] + 0.01


@pytest.mark.parametrize(("training", "rows"), [(True, 6), (False, 3)])
def test_r_drop_passes_each_row_twice_only_in_training(training: bool, rows: int) -> None:
    loss = TeacherForcing(small_model(dropout=0.3).train(training), 0.1, 1.0, blockwise_head_loss)
    rows_of_passes: list[int] = []
    loss.model.source_embedding.register_forward_pre_hook(lambda _, inputs: rows_of_passes.append(len(inputs[0])))
    loss(BATCH)
    assert rows_of_passes == [rows]


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
    loss = TeacherForcing(model, 0.1, r_drop, blockwise_head_loss)

    def gradient(bf16: bool) -> Tensor:
        model.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            smoothed = loss(BATCH).objective
        torch.autograd.backward(smoothed)
        assert smoothed.dtype == torch.float32
        return torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None])

    model.eval()  # no dropout: its noise would differ
    exact = gradient(bf16=False)
    rounded = gradient(bf16=True)
    assert not torch.equal(rounded, exact)
    assert torch.cosine_similarity(rounded, exact, dim=0) > 0.99

    model.train()
    noisy = gradient(bf16=True)
    assert noisy.isfinite().all()
    assert noisy.abs().max() > 0
