"""Attention: the equation, the two kernels, the masks, the fused projections."""

import math
from typing import Literal

import pytest
import torch
from torch import Tensor

from translator.model.attention import attend, attention_weights

KERNELS: tuple[Literal["fused", "plain"], ...] = ("fused", "plain")


def inputs(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Query (2, 3, 5, 4), key and value (2, 3, 7, 4)."""
    generator = torch.Generator().manual_seed(1)
    drawn = [torch.randn(2, 3, length, 4, generator=generator, dtype=torch.float64) for length in (5, 7, 7)]
    return [x.to(dtype).requires_grad_() for x in drawn]


def mask_with_empty_rows() -> Tensor:
    mask = torch.rand(2, 1, 5, 7, generator=torch.Generator().manual_seed(2)) > 0.4
    mask[0, 0, 3] = False
    mask[1] = False
    return mask


def test_attention_weights_match_the_equation_of_the_paper() -> None:
    query, key, _ = inputs()
    for b in range(2):
        for h in range(3):
            expected = torch.softmax(query[b, h] @ key[b, h].T / math.sqrt(4), dim=-1)
            torch.testing.assert_close(attention_weights(query, key, None)[b, h], expected)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("asked", [False, True])
def test_the_kernels_agree_forward_and_backward(masked: bool, asked: bool) -> None:
    mask = mask_with_empty_rows() if masked else None
    results = []
    for kernel in KERNELS:
        query, key, value = inputs()
        weights: list[Tensor] | None = [] if asked and kernel == "plain" else None
        context = attend(query, key, value, mask, weights=weights, kernel=kernel)
        torch.autograd.backward(context.square().sum())
        results.append([context, query.grad, key.grad, value.grad])
        if weights is not None:
            torch.testing.assert_close(weights[0], attention_weights(query, key, mask))
    for fused, plain in zip(*results, strict=True):
        torch.testing.assert_close(plain, fused, rtol=1e-9, atol=1e-9)
    query, key, value = inputs()
    with torch.no_grad():
        torch.testing.assert_close(attend(query, key, value, mask, kernel="plain"), results[1][0])


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_plain_kernel_gradient_matches_finite_differences(dropout: float) -> None:
    mask = mask_with_empty_rows()

    def function(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        torch.manual_seed(3)  # the same weights are dropped each time
        return attend(query, key, value, mask, dropout, kernel="plain")

    assert torch.autograd.gradcheck(function, inputs())


def test_plain_bf16_gradients_are_as_accurate_as_those_of_torch() -> None:
    errors = []
    for kernel in KERNELS:
        found = []
        for dtype in (torch.float64, torch.bfloat16):
            query, key, value = inputs(dtype)
            torch.autograd.backward(attend(query, key, value, None, kernel=kernel).square().sum())
            found.append(torch.cat([x.grad.double().flatten() for x in (query, key, value) if x.grad is not None]))
        errors.append(float((found[0] - found[1]).norm() / found[0].norm()))
    assert errors[1] < 1.5 * errors[0] + 1e-3


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_query_with_nothing_to_attend_to_gets_zeros(
    kernel: Literal["fused", "plain"], dropout: float, dtype: torch.dtype
) -> None:
    query, key, value = inputs(dtype)
    context = attend(query, key, value, mask_with_empty_rows(), dropout, kernel=kernel)
    torch.autograd.backward(context.float().square().sum())
    assert (context[0, :, 3] == 0).all() and (context[1] == 0).all()
    for tensor in (context, *(tensor.grad for tensor in (query, key, value))):
        assert tensor is not None and tensor.isfinite().all()
    assert query.grad is not None and (query.grad[1] == 0).all()
    assert context[0, :, 0].abs().sum() > 0


def test_dropout_drops_weights_and_keeps_the_mean() -> None:
    query, key, _ = inputs()
    one_hot = torch.eye(7, dtype=torch.float64).expand(2, 3, 7, 7)
    weights = attention_weights(query, key, None)
    torch.manual_seed(1)
    draws = torch.stack([attend(query, key, one_hot, None, 0.25, kernel="plain") for _ in range(600)])
    assert abs(float((draws == 0).double().mean()) - 0.25) < 0.01
    torch.testing.assert_close(draws.mean(0), weights, rtol=0.2, atol=0.02)
    kept = draws[0] != 0
    torch.testing.assert_close(draws[0][kept], weights[kept] / 0.75)
