"""Attention: the equation of the paper, masks, and the kernels of training and of a search step."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from translator.core.attention import attend, attention, attention_weights

DRAW = torch.Generator().manual_seed(1)
QUERY = torch.randn(2, 3, 5, 4, generator=DRAW, dtype=torch.float64)
KEY = torch.randn(2, 3, 7, 4, generator=DRAW, dtype=torch.float64)
VALUE = torch.randn(2, 3, 7, 4, generator=DRAW, dtype=torch.float64)
MASK = torch.rand(2, 1, 5, 7, generator=DRAW) > 0.6
MASK[..., 2] = True  # every query attends to at least one key
BIAS = torch.zeros(2, 3, 5, 7, dtype=torch.float64).masked_fill(~MASK, -torch.inf)
MASKS = pytest.mark.parametrize("mask", [None, MASK, BIAS], ids=["open", "masked", "bias"])


@MASKS
def test_the_weights_match_the_equation_of_the_paper(mask: Tensor | None) -> None:
    weights = attention_weights(QUERY, KEY, mask)
    for row, head in itertools.product(range(2), range(3)):
        scores = QUERY[row, head] @ KEY[row, head].T / math.sqrt(4)
        if mask is not None:
            scores = scores + BIAS[row, head]
        torch.testing.assert_close(weights[row, head], torch.softmax(scores, dim=-1))


@MASKS
@pytest.mark.parametrize("kernel", [attention, lambda *arguments: attend(*arguments[:4])], ids=["training", "search"])
def test_the_context_is_the_sum_of_the_values_by_their_weights(kernel: object, mask: Tensor | None) -> None:
    context = kernel(QUERY, KEY, VALUE, mask, 0.0)  # type: ignore[operator]
    torch.testing.assert_close(context, attention_weights(QUERY, KEY, mask) @ VALUE)
