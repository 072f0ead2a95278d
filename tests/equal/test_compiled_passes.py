"""Compiled layers and head have the loss and gradients of the core, in five graphs for the one shape."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend

from tests.support.small_model import random_pairs, rows_of, small_model
from translator.core.batch import Batch
from translator.core.loss import TeacherForcing
from translator.core.transformer import Transformer
from translator.speed.compiling import compile_loss, uncompiled

ROW_LENGTH = 31
BATCH = rows_of(random_pairs(10), pairs_a_row=4, row_length=ROW_LENGTH)
NEXT_BATCH = rows_of(random_pairs(10, seed=2), pairs_a_row=4, row_length=ROW_LENGTH)
VALIDATION_BATCH = rows_of(random_pairs(4), pairs_a_row=4, row_length=ROW_LENGTH)


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    """Forget compiled graphs before and after a test."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def loss_of(model: Transformer, r_drop: float = 0.0) -> TeacherForcing:
    return TeacherForcing(model, label_smoothing=0.1, r_drop=r_drop)


def update_tensors(loss: TeacherForcing, batch: Batch) -> list[Tensor]:
    """The objective, the token losses, and all gradients."""
    torch.manual_seed(1)  # of dropout
    losses = loss(batch)
    return [
        losses.objective.detach(),
        losses.of_tokens,
        *torch.autograd.grad(losses.objective, list(loss.model.parameters())),
    ]


def test_a_compiled_update_equals_an_uncompiled_one() -> None:
    """With all that draws random numbers, and no norm after a stack."""
    model = small_model(
        encoder_layers=1,
        decoder_layers=1,
        activation="swiglu",
        positions="rotary",
        norm="post",
        dropout=0.2,
        attention_dropout=0.1,
        feed_forward_dropout=0.1,
    )
    loss = loss_of(model.train(), r_drop=3.0)
    expected = update_tensors(loss, BATCH)
    compiled = compile_loss(loss, fullgraph=True, backend="eager")  # traces, and generates no code
    torch.testing.assert_close(update_tensors(compiled, BATCH), expected, rtol=1e-5, atol=1e-5)


def test_a_model_is_five_graphs_whatever_its_number_of_layers_and_the_next_batch_compiles_nothing() -> None:
    """Encoder layer, decoder layer, the norm after a stack, positions, and head."""
    backend = CompileCounterWithBackend("eager")
    model = small_model(encoder_layers=3, decoder_layers=2).train()
    loss = loss_of(model)
    expected = [update_tensors(loss, batch) for batch in (BATCH, NEXT_BATCH)]
    loss = compile_loss(loss, fullgraph=True, backend=backend)
    results = [update_tensors(loss, batch) for batch in (BATCH, NEXT_BATCH)]
    torch.testing.assert_close(results, expected, rtol=1e-5, atol=1e-5)
    assert backend.frame_count == 5

    # A validation compiles nothing.
    model.eval()
    with uncompiled(), torch.inference_mode():
        loss(VALIDATION_BATCH)
    model.train()
    update_tensors(loss, BATCH)
    assert backend.frame_count == 5

    # Updates without dropout compile once more what has dropout.
    model.eval()
    update_tensors(loss, BATCH)
    update_tensors(loss, NEXT_BATCH)
    assert backend.frame_count == 5 + 3
