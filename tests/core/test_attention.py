"""Attention: the equation of the paper, masks, and the kernel that training uses."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from translator.core.attention import SelfAttention, attend, attention, attention_weights


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    """Query (2, 3, 5, 4), key and value (2, 3, 7, 4)."""
    generator = torch.Generator().manual_seed(1)
    query = torch.randn(2, 3, 5, 4, generator=generator, dtype=torch.float64)
    key = torch.randn(2, 3, 7, 4, generator=generator, dtype=torch.float64)
    value = torch.randn(2, 3, 7, 4, generator=generator, dtype=torch.float64)
    return query, key, value


def random_mask() -> Tensor:
    """A mask (2, 1, 5, 7) that lets every query attend to at least one key."""
    mask = torch.rand(2, 1, 5, 7, generator=torch.Generator().manual_seed(2)) > 0.6
    mask[..., 2] = True
    return mask


def test_the_weights_match_the_equation_of_the_paper() -> None:
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
    bias = torch.zeros(2, 3, 5, 7, dtype=torch.float64).masked_fill(~random_mask(), -torch.inf)
    torch.testing.assert_close(attention_weights(query, key, bias), attention_weights(query, key, random_mask()))


@pytest.mark.parametrize("mask", [None, random_mask()], ids=["open", "masked"])
@pytest.mark.parametrize("kernel", [attention, lambda *arguments: attend(*arguments[:4])], ids=["training", "search"])
def test_the_context_is_the_sum_of_the_values_by_their_weights(kernel: object, mask: Tensor | None) -> None:
    query, key, value = inputs()
    context = kernel(query, key, value, mask, 0.0)  # type: ignore[operator]
    expected = attention_weights(query, key, mask) @ value
    torch.testing.assert_close(context, expected)


def test_the_kernel_drops_weights_in_training_only() -> None:
    layer = SelfAttention(8, 2, dropout=0.3)
    rates: list[float] = []

    def kernel(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
        rates.append(dropout)
        return attention(query, key, value, mask, dropout)

    layer.kernel = kernel
    layer.train()(torch.randn(1, 3, 8), None)
    layer.eval()(torch.randn(1, 3, 8), None)
    assert rates == [0.3, 0.0]
