"""A batch of rows gives the loss and the gradients of its sentences one by one."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.support.small_model import random_pairs, rows_of, small_model
from translator.data import Batch
from translator.model import Transformer
from translator.training.blockwise_loss import blockwise_head_loss
from translator.training.loss import HeadLoss, TeacherForcing, head_loss

PAIRS = random_pairs(10)
Gradients = dict[str, Tensor]


def loss_and_gradients(
    model: Transformer, batches: list[Batch], r_drop: float = 0.0, head: HeadLoss = blockwise_head_loss
) -> tuple[Tensor, Gradients]:
    """The summed objective and its gradients."""
    loss = TeacherForcing(model, label_smoothing=0.1, r_drop=r_drop, head_loss=head)
    model.zero_grad()
    total = torch.zeros((), dtype=torch.float64)
    for batch in batches:
        objective = loss(batch).objective
        objective.backward()  # type: ignore[no-untyped-call]
        total += objective.detach()
    gradients = {}
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        gradients[name] = weight.grad.clone()
    return total, gradients


def assert_same(rows: tuple[Tensor, Gradients], sentences: tuple[Tensor, Gradients]) -> None:
    loss, gradients = rows
    expected_loss, expected_gradients = sentences
    torch.testing.assert_close(loss, expected_loss, rtol=1e-10, atol=1e-10)
    for name, gradient in expected_gradients.items():
        torch.testing.assert_close(gradients[name], gradient, rtol=1e-10, atol=1e-10, msg=name)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@pytest.mark.parametrize("kernel", ["fused", "plain"])
def test_rows_have_the_loss_and_gradients_of_single_sentences(norm: str, positions: str, kernel: str) -> None:
    model = small_model(norm=norm, positions=positions, dropout=0.0).double()
    model.use_attention(kernel)  # type: ignore[arg-type]
    rows = rows_of(PAIRS, pairs_a_row=4, row_length=31)
    sentences = [rows_of([pair], pairs_a_row=1) for pair in PAIRS]
    assert_same(loss_and_gradients(model, [rows]), loss_and_gradients(model, sentences))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_r_drop_over_rows_equals_that_over_single_sentences(norm: str) -> None:
    """Without dropout the two passes are equal, so the loss of both is that of one."""
    model = small_model(norm=norm, dropout=0.0).double().train()
    rows = rows_of(PAIRS, pairs_a_row=4, row_length=31)
    sentences = [rows_of([pair], pairs_a_row=1) for pair in PAIRS]
    assert_same(loss_and_gradients(model, [rows], r_drop=3.0), loss_and_gradients(model, sentences))


def test_a_row_without_sentences_adds_nothing() -> None:
    model = small_model(dropout=0.0).double()
    rows = rows_of(PAIRS, pairs_a_row=4, row_length=31)
    empty = torch.zeros(7, 3, 31, dtype=torch.int64)
    with_empty_rows = replace(rows, fields=torch.cat((rows.fields, empty), dim=1))
    assert_same(loss_and_gradients(model, [with_empty_rows]), loss_and_gradients(model, [rows]))


@pytest.mark.parametrize("head", [blockwise_head_loss, head_loss])
def test_token_losses_summed_by_sentence_are_those_of_single_sentences(head: HeadLoss) -> None:
    model = small_model(dropout=0.0).double().eval()
    loss = TeacherForcing(model, label_smoothing=0.1, r_drop=0.0, head_loss=head)
    rows = rows_of(PAIRS, pairs_a_row=4, row_length=31)
    expected = []
    with torch.no_grad():
        sentence_losses = rows.sum_by_sentence(loss(rows).of_tokens)
        for pair in PAIRS:
            single_sentence = rows_of([pair], pairs_a_row=1)
            expected.append(loss(single_sentence).of_tokens.sum().item())
    assert sentence_losses.tolist() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_token_of_one_sentence_does_not_change_another_of_its_row(side: str) -> None:
    model = small_model(dropout=0.0).double().eval()
    first_pair = ([5, 6, 7], [8, 9])
    second_pair = ([10, 11], [12, 13, 14])
    batch = rows_of([first_pair, second_pair], pairs_a_row=2)
    with torch.no_grad():
        states_before = model.states(batch)
        tokens = batch.source if side == "source" else batch.target_input
        tokens[0, 1] = 20  # in the first sentence
        states = model.states(batch)
    is_second = batch.target_sentence == 2
    assert torch.equal(states[is_second], states_before[is_second])
    assert not torch.equal(states, states_before), "the first sentence has other states"
