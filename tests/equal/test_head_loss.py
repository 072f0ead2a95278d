"""The loss with the output head, block by block, equals that of the core."""

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.small_model import random_pairs, rows_of, small_model
from translator.core.loss import TeacherForcing, head_loss
from translator.speed.blockwise_loss import BLOCK, blockwise_head_loss

BATCH = rows_of(random_pairs(7), pairs_a_row=3)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@settings(max_examples=25)
@given(tokens=st.integers(1, 8), vocabulary=st.integers(2, 30))
@example(tokens=2 * BLOCK["cpu"] + 6, vocabulary=11)
def test_blocks_have_the_value_and_the_gradients_of_the_whole(smoothing: float, tokens: int, vocabulary: int) -> None:
    generator = torch.Generator().manual_seed(tokens)
    states = torch.randn(tokens, 6, generator=generator, dtype=torch.float64).requires_grad_()
    head = (3 * torch.randn(vocabulary, 6, generator=generator, dtype=torch.float64)).requires_grad_()
    labels = torch.randint(0, vocabulary, (tokens,), generator=generator)  # 0 is PAD
    results = []
    for function in (head_loss, blockwise_head_loss):
        loss = function(states, head, labels, smoothing)
        gradients = torch.autograd.grad(loss.objective / 7, (states, head))  # 7 stands for the tokens of an update
        results.append((loss.objective, loss.of_tokens, gradients))
    torch.testing.assert_close(results[1], results[0])


def test_both_forms_validate_alike_without_gradients() -> None:
    model = small_model().eval()
    with torch.inference_mode():
        ours = TeacherForcing(model, 0.1, head_loss=blockwise_head_loss)(BATCH)
        torch.testing.assert_close(ours, TeacherForcing(model, 0.1)(BATCH), rtol=1e-5, atol=1e-5)


def test_bf16_gradients_match_those_of_the_core_in_float32() -> None:
    model = small_model(dropout=0.0)
    weights = list(model.parameters())
    exact = torch.autograd.grad(TeacherForcing(model, 0.1)(BATCH).objective, weights)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        objective = TeacherForcing(model, 0.1, head_loss=blockwise_head_loss)(BATCH).objective
    assert objective.dtype == torch.float32
    rounded = torch.autograd.grad(objective, weights)
    ours = torch.cat([part.flatten() for part in rounded])
    expected = torch.cat([part.flatten() for part in exact])
    assert not torch.equal(ours, expected)
    assert torch.cosine_similarity(ours, expected, dim=0) > 0.99
