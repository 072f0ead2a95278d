"""Gradients in one flat buffer equal those beside each weight, at addresses that never change."""

import torch

from tests.support.small_model import random_pairs, rows_of, small_model
from translator.core.loss import TeacherForcing
from translator.core.transformer import Transformer
from translator.core.update import Gradients, forward_backward
from translator.speed.gradients import FlatGradients

BATCHES = [rows_of(random_pairs(5, seed=seed), pairs_a_row=2, row_length=16) for seed in (1, 2)]
WEIGHT = torch.tensor(0.25)


def one_rank(gradients: torch.Tensor) -> None:
    """The sum over one rank."""


def add_micro_batches(model: Transformer, gradients: Gradients) -> None:
    """Add the gradients of two micro-batches."""
    loss = TeacherForcing(model, label_smoothing=0.1)
    for batch in BATCHES:
        forward_backward(loss, gradients, batch, WEIGHT)


def test_flat_gradients_of_two_updates_equal_plain_ones() -> None:
    """The second update forgets the first."""
    flat_model, plain_model = small_model(dropout=0.0), small_model(dropout=0.0)
    flat = FlatGradients(list(flat_model.parameters()), one_rank)
    plain = Gradients(list(plain_model.parameters()))
    for _ in range(2):
        add_micro_batches(flat_model, flat)
        add_micro_batches(plain_model, plain)
        flat.sum_over_ranks()
        plain.sum_over_ranks()
        for ours, expected in zip(flat_model.parameters(), plain_model.parameters(), strict=True):
            torch.testing.assert_close(ours.grad, expected.grad, rtol=0, atol=0)
        torch.testing.assert_close(flat.norm(), plain.norm())
        flat.clear()
        plain.clear()


def test_ranks_exchange_the_whole_buffer_as_one_message_and_in_bf16_if_asked() -> None:
    messages: list[torch.Tensor] = []

    def double(gradients: torch.Tensor) -> None:
        """The sum over two ranks with equal gradients."""
        messages.append(gradients)
        gradients.mul_(2.0)

    for exchange, dtype in (("float32", torch.float32), ("bf16", torch.bfloat16)):
        model = small_model(dropout=0.0)
        flat = FlatGradients(list(model.parameters()), double, exchange)  # type: ignore[arg-type]
        add_micro_batches(model, flat)
        before = flat.flat.clone()
        flat.sum_over_ranks()
        torch.testing.assert_close(flat.flat, 2.0 * before, rtol=1e-2, atol=1e-4)
        assert messages[-1].dtype == dtype
        assert len(messages[-1]) == sum(weight.numel() for weight in model.parameters())
