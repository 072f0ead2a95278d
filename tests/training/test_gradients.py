"""Gradients in one flat buffer: the same as fresh ones, at addresses that never change."""

import torch

from tests.support.small_model import random_pairs, rows_of, small_model
from translator.model import Transformer
from translator.training.blockwise_loss import blockwise_head_loss
from translator.training.distributed import Distributed
from translator.training.gradients import FlatGradients, FreshGradients, Gradients, gradients_of
from translator.training.loss import TeacherForcing

BATCHES = [rows_of(random_pairs(5, seed=seed), pairs_a_row=2, row_length=16) for seed in (1, 2)]


def backward(model: Transformer, gradients: Gradients) -> None:
    """Add the gradients of two batches."""
    loss = TeacherForcing(model, label_smoothing=0.1, r_drop=0.0, head_loss=blockwise_head_loss)
    for batch in BATCHES:
        gradients.add(torch.autograd.grad(loss(batch).objective, gradients.parameters))


def gradient_addresses(model: Transformer) -> list[int]:
    return [weight.grad.data_ptr() for weight in model.parameters() if weight.grad is not None]


def test_flat_gradients_equal_fresh_ones() -> None:
    flat_model = small_model(dropout=0.0)
    flat = FlatGradients(list(flat_model.parameters()))
    backward(flat_model, flat)
    fresh_model = small_model(dropout=0.0)
    fresh = FreshGradients(list(fresh_model.parameters()))
    backward(fresh_model, fresh)
    for ours, theirs in zip(flat_model.parameters(), fresh_model.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)
    torch.testing.assert_close(flat.norm(), fresh.norm())


def test_flat_gradients_keep_their_addresses() -> None:
    model = small_model(dropout=0.0)
    flat = FlatGradients(list(model.parameters()))
    addresses_before = gradient_addresses(model)
    assert len(addresses_before) == len(list(model.parameters()))
    backward(model, flat)
    flat.clear()
    backward(model, flat)
    assert gradient_addresses(model) == addresses_before


def test_cleared_gradients_start_from_zero() -> None:
    for kind in (FlatGradients, FreshGradients):
        model = small_model(dropout=0.0)
        gradients = kind(list(model.parameters()))
        backward(model, gradients)
        first_norm = gradients.norm()
        gradients.clear()
        backward(model, gradients)
        torch.testing.assert_close(gradients.norm(), first_norm)


def test_only_one_rank_on_a_cpu_has_fresh_gradients() -> None:
    model = small_model()
    assert isinstance(gradients_of(model, torch.device("cpu"), Distributed()), FreshGradients)
    assert isinstance(gradients_of(model, torch.device("cpu"), Distributed(world_size=2)), FlatGradients)
