"""The loss and its hand-written gradient, against torch's own."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.special_tokens import PAD
from translator.training.loss import label_smoothed_loss, projected_loss


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 5),
    length=st.integers(1, 6),
    vocabulary=st.integers(2, 30),
    smoothing=st.sampled_from([0.0, 0.1, 0.5]),
    seed=st.integers(0, 10_000),
)
def test_value_and_gradient_equal_cross_entropy(
    rows: int, length: int, vocabulary: int, smoothing: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = 5 * torch.randn(rows, length, vocabulary, generator=generator, dtype=torch.float32)
    labels = torch.randint(0, vocabulary, (rows, length), generator=generator)
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    loss = label_smoothed_loss(ours, labels, smoothing)
    (loss.smoothed / 7).backward()  # type: ignore[no-untyped-call]
    oracle = F.cross_entropy(
        theirs.flatten(0, 1), labels.flatten(), ignore_index=PAD, reduction="sum", label_smoothing=smoothing
    )
    (oracle / 7).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(loss.smoothed, oracle, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-5, atol=1e-6)
    plain = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD, reduction="sum")
    torch.testing.assert_close(loss.of_tokens.sum(), plain, rtol=1e-5, atol=1e-4)


def test_the_gradient_is_right_by_finite_differences() -> None:
    logits = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([1, PAD, 4])

    def smoothed(values: torch.Tensor) -> torch.Tensor:
        return label_smoothed_loss(values, labels, 0.1).smoothed

    assert torch.autograd.gradcheck(smoothed, (logits,))


def test_padding_neither_costs_nor_teaches() -> None:
    logits = torch.randn(2, 3, 7, requires_grad=True)
    labels = torch.tensor([[4, 5, PAD], [PAD, PAD, PAD]])
    loss = label_smoothed_loss(logits, labels, 0.1)
    loss.smoothed.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert logits.grad[labels == PAD].abs().max() == 0
    assert logits.grad[labels != PAD].abs().min() > 0
    changed = logits.detach().clone()
    changed[labels == PAD] += 100
    torch.testing.assert_close(label_smoothed_loss(changed, labels, 0.1).smoothed, loss.smoothed.detach())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_logits_are_summed_in_float32(dtype: torch.dtype) -> None:
    logits = torch.randn(4, 1000, dtype=dtype, requires_grad=True)
    loss = label_smoothed_loss(logits, torch.tensor([5, 6, 7, 8]), 0.1)
    assert loss.smoothed.dtype == torch.float32
    loss.smoothed.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert logits.grad.dtype == dtype


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("tokens", [1, 7, 1030])
def test_the_loss_of_projected_states_equals_that_of_all_their_logits(smoothing: float, tokens: int) -> None:
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(tokens, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    head = torch.randn(11, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 11, (tokens,), generator=generator)
    labels[0] = PAD
    ours = projected_loss(states, head, labels, smoothing)
    gradients = torch.autograd.grad(ours.smoothed / 7, (states, head))
    expected = label_smoothed_loss(states @ head.T, labels, smoothing)
    oracle = F.cross_entropy(states @ head.T, labels, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(ours.smoothed, oracle)
    torch.testing.assert_close(ours.of_tokens, expected.of_tokens)
    for gradient, theirs in zip(gradients, torch.autograd.grad(oracle / 7, (states, head)), strict=True):
        torch.testing.assert_close(gradient, theirs)


def test_under_autocast_products_are_coarse_and_sums_are_not() -> None:
    generator = torch.Generator().manual_seed(1)
    states, head = torch.randn(600, 32, generator=generator), torch.randn(500, 32, generator=generator) / 6
    labels = torch.randint(4, 500, (600,), generator=generator)
    results = []
    for enabled in (False, True):
        x, weight = states.clone().requires_grad_(), head.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            loss = projected_loss(x, weight, labels, 0.1)
        torch.autograd.backward(loss.smoothed)
        assert loss.smoothed.dtype == loss.of_tokens.dtype == torch.float32
        assert x.grad is not None and weight.grad is not None and x.grad.dtype == torch.float32
        results.append((loss.smoothed.detach(), x.grad.flatten(), weight.grad.flatten()))
    torch.testing.assert_close(results[1][0], results[0][0], rtol=1e-3, atol=0)
    for exact, coarse in zip(results[0][1:], results[1][1:], strict=True):
        assert 0.999 < float(F.cosine_similarity(exact, coarse, dim=0)) < 1 - 1e-7


def test_without_gradients_none_are_computed() -> None:
    states, head = torch.randn(5, 3), torch.randn(7, 3)
    with torch.no_grad():
        loss = projected_loss(states, head, torch.tensor([4, 5, 6, 0, 1]), 0.0)
    assert not loss.smoothed.requires_grad and loss.of_tokens.shape == (5,)
