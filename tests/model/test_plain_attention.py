"""The plain kernel with its written-out gradient, against torch's fused one."""

import pytest
import torch
from torch import Tensor

from translator.model.attention import LARGEST_PLAIN, attend, attention_weights
from translator.model.plain_attention import plain_attention


def inputs(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(2, 3, length, 4, generator=generator, dtype=dtype).requires_grad_() for length in (5, 7, 7)]


def mask_with_an_empty_row() -> Tensor:
    mask = torch.rand(2, 1, 5, 7, generator=torch.Generator().manual_seed(2)) > 0.4
    mask[0, 0, 3] = False
    return mask


@pytest.mark.parametrize("masked", [False, True])
def test_it_equals_the_fused_kernel_forward_and_backward(masked: bool) -> None:
    mask = mask_with_an_empty_row() if masked else None
    results = []
    for kernel in ("fused", "plain"):
        query, key, value = inputs()
        context = attend(query, key, value, mask, kernel=kernel)
        torch.autograd.backward(context.square().sum())
        results.append([context, query.grad, key.grad, value.grad])
    for fused, plain in zip(*results, strict=True):
        torch.testing.assert_close(plain, fused, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_the_gradient_is_right_by_finite_differences(dropout: float) -> None:
    mask = mask_with_an_empty_row()

    def function(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        torch.manual_seed(3)  # the same weights are dropped each time
        return plain_attention(query, key, value, mask, dropout)

    assert torch.autograd.gradcheck(function, inputs())


def test_dropout_drops_weights_and_keeps_the_mean() -> None:
    query, key, _ = inputs()
    one_hot = torch.eye(7, dtype=torch.float64).expand(2, 3, 7, 7)
    weights = attention_weights(query, key, None)
    torch.manual_seed(1)
    draws = torch.stack([plain_attention(query, key, one_hot, None, 0.25) for _ in range(600)])  # weights themselves
    assert abs(float((draws == 0).double().mean()) - 0.25) < 0.01
    torch.testing.assert_close(draws.mean(0), weights, rtol=0.2, atol=0.02)
    kept = draws[0] != 0
    torch.testing.assert_close(draws[0][kept], weights[kept] / 0.75)


def test_views_of_a_fused_projection_need_no_copy_by_the_caller() -> None:
    projected = torch.randn(2, 5, 3 * 12, dtype=torch.float64)
    query, key, value = (part.view(2, 5, 3, 4).transpose(1, 2) for part in projected.chunk(3, dim=-1))
    torch.testing.assert_close(attend(query, key, value, None, kernel="plain"), attend(query, key, value, None))


def test_long_sentences_take_the_fused_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.model.attention.plain_attention", None)
    long = torch.zeros(1, 1, int(LARGEST_PLAIN**0.5) + 1, 2)
    attend(long, long, long, None, kernel="plain")
    with pytest.raises(TypeError):
        attend(long[:, :, 1:], long[:, :, 1:], long[:, :, 1:], None, kernel="plain")
