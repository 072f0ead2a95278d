"""The training loss against torch's own cross-entropy and divergence: label smoothing, R-Drop, bf16."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.support.small_model import random_pairs, rows_of, small_model
from translator.core import PAD
from translator.core.loss import TeacherForcing, head_loss, log_probabilities, r_drop_loss, symmetric_divergence

BATCH = rows_of(random_pairs(7), pairs_a_row=3)
SMOOTHINGS = st.sampled_from([0.0, 0.1, 0.5])


def problem(passes: int, tokens: int, vocabulary: int) -> tuple[Tensor, Tensor, Tensor]:
    """States (passes · tokens, 6), head (vocabulary, 6) and labels (tokens,), the last of which is PAD."""
    generator = torch.Generator().manual_seed(tokens)
    states = torch.randn(passes * tokens, 6, generator=generator, dtype=torch.float64).requires_grad_()
    head = 3 * torch.randn(vocabulary, 6, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, vocabulary, (tokens,), generator=generator)
    labels[-1] = PAD
    return states, head.requires_grad_(), labels


def cross_entropy(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    return F.cross_entropy(logits, labels, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)


@pytest.fixture(autouse=True)
def few_positions_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute the loss in several parts, of unequal sizes."""
    monkeypatch.setattr("translator.core.loss.POSITIONS_AT_ONCE", 3)


@settings(max_examples=25)
@given(tokens=st.integers(1, 8), vocabulary=st.integers(2, 30), smoothing=SMOOTHINGS)
def test_the_loss_is_torchs_smoothed_cross_entropy(tokens: int, vocabulary: int, smoothing: float) -> None:
    states, head, labels = problem(1, tokens, vocabulary)
    loss = head_loss(states, head, labels, smoothing)
    expected = cross_entropy(states @ head.T, labels, smoothing)
    torch.testing.assert_close(loss.objective, expected)
    gradients = torch.autograd.grad(loss.objective, (states, head))
    torch.testing.assert_close(gradients, torch.autograd.grad(expected, (states, head)))

    # The losses of tokens are not smoothed, and PAD has none.
    expected_of_tokens = F.cross_entropy(states @ head.T, labels, ignore_index=PAD, reduction="none")
    torch.testing.assert_close(loss.of_tokens, expected_of_tokens.detach().float())
    assert loss.of_tokens[-1] == 0


@settings(max_examples=25)
@given(tokens=st.integers(2, 6), vocabulary=st.integers(2, 30), smoothing=SMOOTHINGS, weight=st.floats(0.0, 5.0))
def test_r_drop_is_the_mean_of_two_passes_and_half_their_weighted_divergence(
    tokens: int, vocabulary: int, smoothing: float, weight: float
) -> None:
    states, head, labels = problem(2, tokens, vocabulary)
    loss = r_drop_loss(states, head, labels, smoothing, weight)

    first, second = (states @ head.T).chunk(2)
    log_p, log_q = first[labels != PAD].log_softmax(-1), second[labels != PAD].log_softmax(-1)
    forwards = F.kl_div(log_q, log_p, reduction="sum", log_target=True)  # KL(p‖q)
    backwards = F.kl_div(log_p, log_q, reduction="sum", log_target=True)  # KL(q‖p)
    passes = cross_entropy(first, labels, smoothing) + cross_entropy(second, labels, smoothing)
    expected = 0.5 * (passes + weight * 0.5 * (forwards + backwards))
    torch.testing.assert_close(loss.objective, expected)
    gradients = torch.autograd.grad(loss.objective, (states, head))
    torch.testing.assert_close(gradients, torch.autograd.grad(expected, (states, head)))


def test_the_divergence_of_extreme_passes_is_finite() -> None:
    first_logits = torch.tensor([[1000.0, 0.0, -1000.0]], requires_grad=True)
    second_logits = torch.tensor([[-1000.0, 0.0, 1000.0]])
    labels = torch.ones(1, dtype=torch.int64)
    divergence = symmetric_divergence(log_probabilities(first_logits), log_probabilities(second_logits), labels)
    (gradient,) = torch.autograd.grad(divergence, first_logits)
    # Each pass is certain of a token to which the other gives a log-probability of -2000.
    assert divergence.item() == pytest.approx(2000.0)
    assert gradient.isfinite().all()


SWITCHES: dict[str, tuple[dict[str, Any], float]] = {
    "every dropout, untied": ({"attention_dropout": 0.1, "feed_forward_dropout": 0.1, "tied_embeddings": "none"}, 0.0),
    "post-norm, r-drop": ({"norm": "post"}, 5.0),
    "swiglu, rotary positions": ({"activation": "swiglu", "positions": "rotary"}, 0.0),
}


@pytest.mark.parametrize(("changes", "r_drop"), SWITCHES.values(), ids=SWITCHES.keys())
def test_bf16_gradients_match_float32_and_are_finite_with_dropout(changes: dict[str, Any], r_drop: float) -> None:
    model = small_model(**changes)
    loss = TeacherForcing(model, 0.1, r_drop)

    def gradient(bf16: bool) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            objective = loss(BATCH).objective
        assert objective.dtype == torch.float32
        gradients = torch.autograd.grad(objective, list(model.parameters()))
        return torch.cat([part.flatten() for part in gradients])

    model.eval()  # no dropout: its noise would differ
    exact = gradient(bf16=False)
    rounded = gradient(bf16=True)
    assert not torch.equal(rounded, exact)
    assert torch.cosine_similarity(rounded, exact, dim=0) > 0.99

    model.train()
    noisy = gradient(bf16=True)
    assert noisy.isfinite().all()
    assert noisy.abs().max() > 0
