"""No size is one, and loss and gradient stay the same."""

import pytest
import torch
from small_model import small_model

from translator.data import Batch, collate
from translator.special_tokens import EOS, PAD, SOS
from translator.training.loss import label_smoothed_loss
from translator.training.shapes import without_ones


def batch_of(*lengths: tuple[int, int]) -> Batch:
    """Return a batch of pairs with so many tokens, without the special ones."""
    sources = [list(range(4, 4 + source)) for source, _ in lengths]
    targets = [list(range(4, 4 + target)) for _, target in lengths]
    return collate(sources, targets, range(10, 10 + len(lengths)))


def test_a_row_and_columns_are_added_behind() -> None:
    batch = batch_of((0, 0))
    padded = without_ones(batch)
    assert padded.source.tolist() == [[EOS, PAD], [EOS, PAD]]
    assert padded.target_input.tolist() == [[SOS, PAD], [SOS, PAD]]
    assert padded.labels.tolist() == [[EOS, PAD], [PAD, PAD]]
    assert padded.indices is batch.indices
    assert (padded.source_tokens, padded.target_tokens) == (batch.source_tokens, batch.target_tokens)
    assert without_ones(batch_of((2, 0), (4, 0), (1, 0))).labels.shape == (3, 2)


def test_what_fits_already_is_not_copied() -> None:
    batch = batch_of((7, 15), (3, 4))
    padded = without_ones(batch)
    assert padded.source is batch.source and padded.labels is batch.labels


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_loss_and_gradient_stay_the_same(norm: str) -> None:
    batch = batch_of((5, 0))
    found = []
    for each in (batch, without_ones(batch)):
        model = small_model(dropout=0.0, norm=norm).double()
        loss = label_smoothed_loss(model(each.source, each.target_input), each.labels, 0.1)
        (loss.smoothed / each.target_tokens).backward()  # type: ignore[no-untyped-call]
        found.append((loss, [parameter.grad for parameter in model.parameters()]))
    (plain, gradients), (padded, others) = found
    torch.testing.assert_close(padded.smoothed, plain.smoothed)
    torch.testing.assert_close(padded.of_tokens.sum(), plain.of_tokens.sum())
    for gradient, other in zip(gradients, others, strict=True):
        assert other is not None and other.isfinite().all()
        torch.testing.assert_close(other, gradient, rtol=0, atol=1e-12)
