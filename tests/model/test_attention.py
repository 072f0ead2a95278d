"""Attention: the equation, the two kernels, the masks, dropout on the weights."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from translator.model.attention import (
    KERNELS,
    AttentionKernel,
    attention_weights,
    fused_attention,
    plain_attention,
)


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


def test_attention_weights_match_the_equation_of_the_paper() -> None:
    query, key, _ = inputs()
    weights = attention_weights(query, key, None)
    for row, head in itertools.product(range(2), range(3)):
        scores = query[row, head] @ key[row, head].T / math.sqrt(4)
        torch.testing.assert_close(weights[row, head], torch.softmax(scores, dim=-1))


def test_masked_keys_have_no_weight() -> None:
    query, key, _ = inputs()
    weights = attention_weights(query, key, random_mask())
    assert (weights[~random_mask().expand_as(weights)] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 5, dtype=torch.float64))


def test_a_float_bias_masks_like_a_boolean_mask() -> None:
    query, key, _ = inputs()
    bias = torch.zeros(2, 1, 5, 7, dtype=torch.float64).masked_fill(~random_mask(), -torch.inf)
    by_head = bias.expand(2, 3, 5, 7).flatten(0, 1)
    torch.testing.assert_close(attention_weights(query, key, by_head), attention_weights(query, key, random_mask()))


@pytest.mark.parametrize("mask", [None, random_mask()], ids=["open", "masked"])
def test_the_kernels_agree_forward_and_backward(mask: Tensor | None) -> None:
    fused = context_and_gradients(fused_attention, mask)
    plain = context_and_gradients(plain_attention, mask)
    torch.testing.assert_close(plain, fused, rtol=1e-9, atol=1e-9)


def test_the_plain_kernel_computes_the_same_without_gradients() -> None:
    query, key, value = inputs()
    with torch.no_grad():
        context = plain_attention(query, key, value, random_mask(), 0.0)
    torch.testing.assert_close(context, context_and_gradients(plain_attention, random_mask())[0])


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_plain_kernel_gradient_matches_finite_differences(dropout: float) -> None:
    def function(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        torch.manual_seed(3)  # the same weights are dropped each time
        return plain_attention(query, key, value, random_mask(), dropout)

    assert torch.autograd.gradcheck(function, inputs())


def test_plain_bf16_gradients_are_as_accurate_as_those_of_torch() -> None:
    def flat_gradient(kernel: AttentionKernel, dtype: torch.dtype) -> Tensor:
        _, *gradients = context_and_gradients(kernel, None, dtype)
        return torch.cat([gradient.double().flatten() for gradient in gradients])

    errors = {}
    for name, kernel in KERNELS.items():
        exact = flat_gradient(kernel, torch.float64)
        rounded = flat_gradient(kernel, torch.bfloat16)
        errors[name] = float((exact - rounded).norm() / exact.norm())
    assert errors["plain"] < 1.5 * errors["fused"] + 1e-3


@pytest.mark.parametrize("name", ["fused", "plain"])
def test_dropout_drops_weights_and_keeps_the_mean(name: str) -> None:
    kernel = KERNELS[name]  # type: ignore[index]
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
    first_draw = draws[0]
    remaining = first_draw != 0
    torch.testing.assert_close(first_draw[remaining], weights[remaining] / 0.75)
