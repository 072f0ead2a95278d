"""Padding to a grid: few shapes, and the same loss and gradient."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_model import small_model

from translator.data import Batch, collate
from translator.special_tokens import EOS, PAD, SOS
from translator.training.loss import label_smoothed_loss
from translator.training.shapes import ANY_SIZE, ShapeGrid, pad_to_grid, padding_cost

GRID = ShapeGrid((8, 16), (4, 8))


def batch_of(*lengths: tuple[int, int]) -> Batch:
    """Return a batch of pairs with so many tokens, without the special ones."""
    sources = [list(range(4, 4 + source)) for source, _ in lengths]
    targets = [list(range(4, 4 + target)) for _, target in lengths]
    return collate(sources, targets, range(10, 10 + len(lengths)))


def test_rows_and_columns_are_added_behind() -> None:
    batch = batch_of((2, 9), (1, 3))
    padded = pad_to_grid(batch, GRID)
    assert padded.source.shape == (4, 8) and padded.target_input.shape == padded.labels.shape == (4, 16)
    for before, after, first in zip(
        (batch.source, batch.target_input, batch.labels),
        (padded.source, padded.target_input, padded.labels),
        (EOS, SOS, PAD),
        strict=True,
    ):
        assert torch.equal(after[:2, : before.size(1)], before)
        assert after[2:, 0].tolist() == [first] * 2
        assert set(after[:2, before.size(1) :].flatten().tolist()) | set(after[2:, 1:].flatten().tolist()) <= {PAD}
    assert padded.indices is batch.indices
    assert (padded.source_tokens, padded.target_tokens) == (batch.source_tokens, batch.target_tokens)


def test_what_fits_already_is_not_copied() -> None:
    batch = batch_of(*[(7, 15)] * 4)
    padded = pad_to_grid(batch, GRID)
    assert padded.source is batch.source and padded.labels is batch.labels


def test_no_size_is_one_where_any_size_is_compiled() -> None:
    padded = pad_to_grid(batch_of((0, 0)), ANY_SIZE)
    assert padded.source.shape == padded.labels.shape == (2, 2)
    assert pad_to_grid(batch_of((2, 0), (4, 0), (1, 0)), ANY_SIZE).source.shape == (3, 5)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_loss_and_gradient_stay_the_same(norm: str) -> None:
    batch = batch_of((5, 3), (2, 4), (0, 0))
    found = []
    for each in (batch, pad_to_grid(batch, ShapeGrid((8,), (8,)))):
        model = small_model(dropout=0.0, norm=norm)
        loss = label_smoothed_loss(model(each.source, each.target_input), each.labels, 0.1)
        (loss.smoothed / each.target_tokens).backward()  # type: ignore[no-untyped-call]
        found.append((loss, [parameter.grad for parameter in model.parameters()]))
    (plain, gradients), (padded, others) = found
    torch.testing.assert_close(padded.smoothed, plain.smoothed)
    torch.testing.assert_close(padded.of_tokens.sum(), plain.of_tokens.sum())
    for gradient, other in zip(gradients, others, strict=True):
        assert other is not None and other.isfinite().all()
        torch.testing.assert_close(other, gradient, rtol=0, atol=1e-6)


@given(
    budget=st.integers(8, 40_000),
    max_length=st.integers(1, 700),
    data=st.data(),
)
def test_a_grid_of_few_shapes_covers_every_batch(budget: int, max_length: int, data: st.DataObject) -> None:
    grid = ShapeGrid.few_shapes(budget, max_length)
    assert list(grid.lengths) == sorted(set(grid.lengths)) and list(grid.rows) == sorted(set(grid.rows))
    assert all(size % 8 == 0 for size in grid.lengths + grid.rows)
    assert grid.lengths[-1] >= max_length and (len(grid.lengths) == 1 or grid.lengths[-2] < max_length)
    assert grid.rows[-1] >= budget
    length = data.draw(st.integers(1, max_length))
    assert min(size for size in grid.lengths if size >= length) < 2 * length + 8


def test_the_cost_of_a_grid_is_counted() -> None:
    batches = [batch_of((2, 9), (1, 3)), batch_of((6, 8), (1, 1), (1, 1)), batch_of((9, 9))]
    cost = padding_cost(batches, GRID)
    padded = [pad_to_grid(batch, GRID) for batch in batches]
    assert cost.shapes == len({(batch.source.shape, batch.labels.shape) for batch in padded}) == 2
    assert cost.positions == sum(batch.source.numel() + batch.labels.numel() for batch in padded)
    assert cost.planned_positions == 2 * (3 + 10) + 3 * (7 + 9) + 10 + 10
