"""Attention: the equation, the two paths, the masks, the fused projections."""

import math

import pytest
import torch
from torch import Tensor

from translator.masks import MaskGenerator
from translator.model.attention import (
    CrossAttention,
    SelfAttention,
    attend,
    attention_weights,
    merge_heads,
    split_heads,
)


def heads_of(*lengths: int, grad: bool = False) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(2, 3, length, 4, generator=generator).requires_grad_(grad) for length in lengths]


def mask_with_an_empty_row() -> Tensor:
    mask = torch.rand(2, 1, 5, 7, generator=torch.Generator().manual_seed(2)) > 0.4
    mask[0, 0, 3] = False
    mask[1] = False
    return mask


def test_weights_are_the_equation_of_the_paper() -> None:
    query, key = heads_of(5, 7)
    for b in range(2):
        for h in range(3):
            expected = torch.softmax(query[b, h] @ key[b, h].T / math.sqrt(4), dim=-1)
            torch.testing.assert_close(attention_weights(query, key, None)[b, h], expected)


def test_weights_sum_to_one_over_allowed_keys_and_are_zero_elsewhere() -> None:
    query, key = heads_of(5, 7)
    mask = mask_with_an_empty_row()
    weights = attention_weights(query, key, mask)
    assert (weights[~mask.expand_as(weights)] == 0).all()
    sums = weights.sum(-1)
    torch.testing.assert_close(sums, mask.any(-1).float().expand_as(sums))


@pytest.mark.parametrize("masked", [False, True])
def test_both_paths_agree_forward_and_backward(masked: bool) -> None:
    mask = mask_with_an_empty_row() if masked else None
    results = []
    for weights in (None, list[Tensor]()):
        query, key, value = heads_of(5, 7, 7, grad=True)
        context = attend(query, key, value, mask, weights=weights)
        torch.autograd.backward(context.square().sum())
        results.append([context.detach(), query.grad, key.grad, value.grad])
    for fast, explicit in zip(*results, strict=True):
        assert fast is not None and explicit is not None
        torch.testing.assert_close(fast, explicit, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_query_with_nothing_to_attend_to_gets_zeros(asked: bool, dropout: float, dtype: torch.dtype) -> None:
    query, key, value = (tensor.to(dtype).requires_grad_() for tensor in heads_of(5, 7, 7))
    context = attend(query, key, value, mask_with_an_empty_row(), dropout, [] if asked else None)
    torch.autograd.backward(context.float().square().sum())
    assert (context[0, :, 3] == 0).all() and (context[1] == 0).all()
    for tensor in (context, *(tensor.grad for tensor in (query, key, value))):
        assert tensor is not None and tensor.isfinite().all()
    assert query.grad is not None and (query.grad[1] == 0).all()
    assert context[0, :, 0].abs().sum() > 0


def test_heads_are_blocks_of_columns_and_merge_back() -> None:
    x = torch.arange(2 * 5 * 12.0).view(2, 5, 12)
    heads = split_heads(x, 3)
    assert heads.shape == (2, 3, 5, 4)
    assert torch.equal(heads[1, 2, 4], x[1, 4, 8:12])
    assert torch.equal(merge_heads(heads), x)


def test_self_attention_equals_torch() -> None:
    torch.manual_seed(1)
    ours, theirs = SelfAttention(12, 3).eval(), torch.nn.MultiheadAttention(12, 3, batch_first=True).eval()
    theirs.in_proj_weight.data.copy_(ours.query_key_value.weight)
    theirs.in_proj_bias.data.copy_(ours.query_key_value.bias)
    theirs.out_proj.load_state_dict(ours.output.state_dict())
    x, mask = torch.randn(2, 6, 12), MaskGenerator.causal(6)
    weights: list[Tensor] = []
    expected, expected_weights = theirs(x, x, x, attn_mask=~mask[0, 0], average_attn_weights=False)
    torch.testing.assert_close(ours(x, mask, weights), expected)
    torch.testing.assert_close(weights[0], expected_weights)


def test_self_and_cross_attention_have_projections_of_their_own_fused_where_they_can_be() -> None:
    own = {name: tuple(weight.shape) for name, weight in SelfAttention(12, 3).named_parameters()}
    cross = {name: tuple(weight.shape) for name, weight in CrossAttention(12, 3).named_parameters()}
    assert own["query_key_value.weight"] == (36, 12) and own["output.weight"] == (12, 12)
    assert cross["query.weight"] == (12, 12) and cross["key_value.weight"] == (24, 12)
    assert cross["output.weight"] == (12, 12)


def test_cross_attention_asks_with_the_target_and_answers_with_the_source() -> None:
    torch.manual_seed(1)
    attention = CrossAttention(12, 3)
    x, memory = torch.randn(2, 4, 12), torch.randn(2, 6, 12)
    weights: list[Tensor] = []
    out = attention(x, memory, None, weights)
    assert out.shape == (2, 4, 12)
    assert weights[0].shape == (2, 3, 4, 6)
    assert not torch.allclose(out, attention(x + torch.randn_like(x), memory, None))
    assert not torch.allclose(out, attention(x, memory.flip(0), None))
    # A target position speaks for itself alone.
    changed = x.clone()
    changed[:, 2] += 1
    same = [0, 1, 3]
    torch.testing.assert_close(attention(changed, memory, None)[:, same], out[:, same])


def test_attention_dropout_works_in_training_only() -> None:
    torch.manual_seed(1)
    for attention, inputs in ((SelfAttention(12, 3, 0.5), 1), (CrossAttention(12, 3, 0.5), 2)):
        arguments = [torch.randn(2, 6, 12) for _ in range(inputs)]
        assert not torch.equal(attention(*arguments, None), attention(*arguments, None))
        weights: list[Tensor] = []
        assert not torch.equal(attention(*arguments, None, weights), attention(*arguments, None, weights))
        torch.testing.assert_close(weights[0], weights[1])  # what is shown is what was before dropout
        attention.eval()
        assert torch.equal(attention(*arguments, None), attention(*arguments, None))
