"""Attention with its own gradient equals the attention of the core."""

import pytest
import torch
from torch import Tensor

from translator.core.attention import AttentionKernel, attention, attention_weights
from translator.speed.attention import plain_attention


def inputs(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Query (2, 3, 5, 4), key and value (2, 3, 7, 4)."""
    generator = torch.Generator().manual_seed(1)
    shapes = [(2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4)]
    exact = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return [x.to(dtype).requires_grad_() for x in exact]


def random_mask() -> Tensor:
    """A mask (2, 1, 5, 7) that lets every query attend to at least one key."""
    mask = torch.rand(2, 1, 5, 7, generator=torch.Generator().manual_seed(2)) > 0.6
    mask[..., 2] = True
    return mask


def context_and_gradients(
    kernel: AttentionKernel, mask: Tensor | None, dtype: torch.dtype = torch.float64
) -> list[Tensor]:
    query, key, value = inputs(dtype)
    context = kernel(query, key, value, mask, 0.0)
    gradients = torch.autograd.grad(context.square().sum(), (query, key, value))
    return [context.detach(), *gradients]


@pytest.mark.parametrize("mask", [None, random_mask()], ids=["open", "masked"])
def test_both_kernels_have_the_same_context_and_gradients(mask: Tensor | None) -> None:
    expected = context_and_gradients(attention, mask)
    torch.testing.assert_close(context_and_gradients(plain_attention, mask), expected, rtol=1e-9, atol=1e-9)
    with torch.no_grad():
        query, key, value = inputs()
        context = plain_attention(query, key, value, mask, 0.0)
    torch.testing.assert_close(context, expected[0], rtol=1e-9, atol=1e-9)


def test_bf16_gradients_are_as_accurate_as_those_of_the_core() -> None:
    def flat_gradient(kernel: AttentionKernel, dtype: torch.dtype) -> Tensor:
        _, *gradients = context_and_gradients(kernel, None, dtype)
        return torch.cat([gradient.double().flatten() for gradient in gradients])

    errors = []
    for kernel in (attention, plain_attention):
        exact = flat_gradient(kernel, torch.float64)
        errors.append(float((exact - flat_gradient(kernel, torch.bfloat16)).norm() / exact.norm()))
    assert errors[1] < 1.5 * errors[0] + 1e-3


@pytest.mark.parametrize("kernel", [attention, plain_attention])
def test_dropout_drops_a_share_of_the_weights_and_keeps_their_mean(kernel: AttentionKernel) -> None:
    query, key, _ = inputs()
    one_hot = torch.eye(7, dtype=torch.float64).expand(2, 3, 7, 7)  # as values, so that the context is the weights
    weights = attention_weights(query, key, None).detach()
    torch.manual_seed(1)
    draws = torch.stack([kernel(query, key, one_hot, None, 0.25).detach() for _ in range(600)])

    # The rate and the mean over many draws.
    dropped_share = float((draws == 0).double().mean())
    assert dropped_share == pytest.approx(0.25, abs=0.01)
    torch.testing.assert_close(draws.mean(0), weights, rtol=0.2, atol=0.02)

    # In each draw, what is not dropped grows.
    remaining = draws[0] != 0
    torch.testing.assert_close(draws[0][remaining], weights[remaining] / 0.75)
