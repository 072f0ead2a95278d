"""A batch of rows gives the loss and the gradients of its sentences one by one."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.support.small_model import random_pairs, rows_of, small_model
from translator.core.batch import Batch
from translator.core.layers import NormOrder
from translator.core.loss import TeacherForcing
from translator.core.positions import Positions
from translator.core.transformer import Transformer

PAIRS = random_pairs(10)
ROWS = rows_of(PAIRS, pairs_a_row=4, row_length=31)
SENTENCES = [rows_of([pair], pairs_a_row=1) for pair in PAIRS]
Gradients = dict[str, Tensor]


def loss_and_gradients(model: Transformer, batches: list[Batch], r_drop: float = 0.0) -> tuple[Tensor, Gradients]:
    """The summed objective and its gradients."""
    loss = TeacherForcing(model, label_smoothing=0.1, r_drop=r_drop)
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


def assert_same(ours: tuple[Tensor, Gradients], expected: tuple[Tensor, Gradients]) -> None:
    torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("norm", "positions"), [("pre", "sinusoidal"), ("post", "learned"), ("pre", "rotary")])
def test_rows_have_the_loss_and_gradients_of_single_sentences(norm: NormOrder, positions: Positions) -> None:
    model = small_model(norm=norm, positions=positions, dropout=0.0).double()
    assert_same(loss_and_gradients(model, [ROWS]), loss_and_gradients(model, SENTENCES))


def test_r_drop_over_rows_equals_that_over_single_sentences() -> None:
    """Without dropout the two passes are equal, so the loss of both is that of one."""
    model = small_model(dropout=0.0).double().train()
    assert_same(loss_and_gradients(model, [ROWS], r_drop=3.0), loss_and_gradients(model, SENTENCES))


def test_a_row_without_sentences_adds_nothing() -> None:
    model = small_model(dropout=0.0).double()
    empty = torch.zeros(7, 3, 31, dtype=torch.int64)
    with_empty_rows = replace(ROWS, fields=torch.cat((ROWS.fields, empty), dim=1))
    assert_same(loss_and_gradients(model, [with_empty_rows]), loss_and_gradients(model, [ROWS]))
