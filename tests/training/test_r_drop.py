"""The divergence of R-Drop and its hand-written gradient, against torch's own and against the definition."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from translator.training.r_drop import symmetric_divergence


def by_definition(logits: Tensor) -> Tensor:
    """½ · (KL(p‖q) + KL(q‖p)), summed over tokens, by torch's own functions."""
    p, q = F.log_softmax(logits, dim=-1).chunk(2)
    return 0.5 * (F.kl_div(q, p, reduction="sum", log_target=True) + F.kl_div(p, q, reduction="sum", log_target=True))


@settings(max_examples=60, deadline=None)
@given(
    tokens=st.integers(1, 6),
    vocabulary=st.integers(2, 40),
    scale=st.sampled_from([0.1, 1.0, 10.0]),
    weight=st.sampled_from([1.0, 0.01]),
    seed=st.integers(0, 10_000),
)
def test_value_and_gradient_equal_the_definition(
    tokens: int, vocabulary: int, scale: float, weight: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(2 * tokens, vocabulary, generator=generator)
    ours, theirs = logits.clone().requires_grad_(), logits.double().requires_grad_()
    divergence, oracle = symmetric_divergence(ours), by_definition(theirs)
    torch.autograd.backward(weight * divergence)
    torch.autograd.backward(weight * oracle)
    torch.testing.assert_close(divergence.double(), oracle, rtol=1e-4, atol=1e-6)
    assert ours.grad is not None and theirs.grad is not None
    torch.testing.assert_close(ours.grad.double(), theirs.grad, rtol=1e-4, atol=1e-5 * scale)


def test_the_gradient_is_right_by_finite_differences() -> None:
    torch.manual_seed(1)
    logits = (2 * torch.randn(8, 7, dtype=torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(symmetric_divergence, (logits,))


def test_two_tokens_by_hand() -> None:
    # p = (½, ½) and q = (¾, ¼): KL(p‖q) = ½ ln ⅔ + ½ ln 2 and KL(q‖p) = ¾ ln 1½ + ¼ ln ½, so D = ⅛ ln 3.
    token = torch.tensor([[0.5, 0.5], [0.75, 0.25]]).log()
    assert symmetric_divergence(token).item() == pytest.approx(0.125 * torch.tensor(3.0).log().item(), rel=1e-5)
    two = torch.stack((token[0], token[1], token[1], token[0]))  # the second token the other way round
    assert symmetric_divergence(two).item() == pytest.approx(0.25 * torch.tensor(3.0).log().item(), rel=1e-5)


def test_passes_that_agree_cost_nothing_and_teach_nothing() -> None:
    one = torch.randn(5, 30)
    logits = torch.cat((one, one + 7.0)).requires_grad_()  # a softmax does not see what is added to all
    divergence = symmetric_divergence(logits)
    torch.autograd.backward(divergence)
    assert 0 <= divergence.item() < 1e-6
    assert logits.grad is not None and logits.grad.abs().max() < 1e-5


def test_close_passes_do_not_drown_in_rounding() -> None:
    torch.manual_seed(1)
    one = 8 * torch.randn(50, 1000, dtype=torch.float64)
    logits = torch.cat((one, one + 1e-3 * torch.randn_like(one)))
    assert symmetric_divergence(logits.float()).item() == pytest.approx(by_definition(logits).item(), rel=0.05)


def test_bf16_logits_are_computed_in_float32() -> None:
    torch.manual_seed(1)
    logits = (3 * torch.randn(64, 500)).bfloat16().requires_grad_()
    exact = logits.detach().double().requires_grad_()
    divergence, oracle = symmetric_divergence(logits), by_definition(exact)
    torch.autograd.backward((divergence, oracle))
    assert divergence.dtype == torch.float32
    assert divergence.item() == pytest.approx(oracle.item(), rel=1e-5)
    assert logits.grad is not None and exact.grad is not None
    assert logits.grad.dtype == torch.bfloat16
    torch.testing.assert_close(logits.grad.double(), exact.grad, rtol=2**-7, atol=1e-5)


def test_extreme_logits_stay_finite() -> None:
    logits = torch.tensor([[1000.0, 0.0, -1000.0], [-1000.0, 0.0, 1000.0]], requires_grad=True)
    divergence = symmetric_divergence(logits)
    torch.autograd.backward(divergence)
    assert divergence.item() == pytest.approx(2000.0)
    assert logits.grad is not None and bool(logits.grad.isfinite().all())


def test_a_share_without_tokens_is_zero() -> None:
    logits = torch.zeros(0, 9, requires_grad=True)
    divergence = symmetric_divergence(logits)
    torch.autograd.backward(divergence)
    assert divergence.item() == 0.0


def test_the_logits_are_left_as_they_are_and_only_what_backward_needs_is_kept() -> None:
    logits = torch.randn(6, 11).bfloat16().requires_grad_()
    before, kept = logits.detach().clone(), list[Tensor]()

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        divergence = symmetric_divergence(logits)
    assert torch.equal(logits.detach(), before)
    held = [tensor for tensor in kept if tensor.dim()]  # beside the factor of ½ and the like
    assert [(tensor.shape, tensor.dtype) for tensor in held] == [(logits.shape, torch.bfloat16)]
    assert divergence.requires_grad
    with torch.no_grad():
        assert not symmetric_divergence(logits).requires_grad
