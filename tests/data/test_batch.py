"""Batches: where SOS, EOS and PAD stand."""

import dataclasses

import numpy as np
import pytest
import torch

from translator.data import Batch, collate, collate_source
from translator.special_tokens import EOS, PAD, SOS


@pytest.fixture
def batch() -> Batch:
    """Return three pairs of unlike length, one with an empty source."""
    return collate([[5, 6, 7], [8], []], [[9], [10, 11], [12, 13]], [40, 2, 7])


def test_special_tokens_are_in_place(batch: Batch) -> None:
    assert batch.source.tolist() == [[5, 6, 7, EOS], [8, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]]
    assert batch.target_input.tolist() == [[SOS, 9, PAD], [SOS, 10, 11], [SOS, 12, 13]]
    assert batch.labels.tolist() == [[9, EOS, PAD], [10, 11, EOS], [12, 13, EOS]]
    assert batch.indices.tolist() == [40, 2, 7]
    assert {part.dtype for part in (batch.source, batch.target_input, batch.labels, batch.indices)} == {torch.int64}


def test_labels_are_the_target_input_one_step_ahead(batch: Batch) -> None:
    for shifted, labels in zip(batch.target_input.tolist(), batch.labels.tolist(), strict=True):
        sentence = [token for token in labels if token not in (PAD, EOS)]
        assert [token for token in shifted if token != PAD] == [SOS, *sentence]


def test_counts_are_of_real_tokens(batch: Batch) -> None:
    assert batch.size == 3
    assert batch.source_tokens == int((batch.source != PAD).sum()) == 7
    assert batch.target_tokens == int((batch.labels != PAD).sum()) == int((batch.target_input != PAD).sum()) == 8
    assert type(batch.source_tokens) is type(batch.target_tokens) is int


def test_a_batch_is_frozen_and_moves_whole(batch: Batch) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.source = batch.labels  # type: ignore[misc]
    moved = batch.to("meta")
    assert {part.device.type for part in (moved.source, moved.target_input, moved.labels, moved.indices)} == {"meta"}
    assert (moved.source_tokens, moved.target_tokens) == (batch.source_tokens, batch.target_tokens)


@pytest.mark.parametrize("non_blocking", [True, False])
def test_a_batch_may_stay_where_it_is(batch: Batch, non_blocking: bool) -> None:
    assert batch.to("cpu", non_blocking=non_blocking).source is batch.source


@pytest.mark.parametrize("non_blocking", [True, False])
def test_only_a_copy_to_a_gpu_that_nobody_waits_for_starts_from_pinned_memory(
    batch: Batch, non_blocking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned: list[torch.Tensor] = []

    def pin(tensor: torch.Tensor) -> torch.Tensor:
        pinned.append(tensor)
        return tensor

    def arrive(tensor: torch.Tensor, device: str, non_blocking: bool) -> torch.Tensor:
        waits.append(not non_blocking)
        return tensor

    waits: list[bool] = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    monkeypatch.setattr(torch.Tensor, "to", arrive)
    batch.to("cuda:0", non_blocking=non_blocking)
    assert len(pinned) == (4 if non_blocking else 0)
    assert waits == [not non_blocking] * 4


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_a_batch_reaches_the_gpu_whole(batch: Batch) -> None:
    moved = batch.to("cuda", non_blocking=True)
    for ours, theirs in zip((batch.source, batch.labels), (moved.source, moved.labels), strict=True):
        assert theirs.is_cuda and torch.equal(ours, theirs.cpu())
    assert moved.to("cuda", non_blocking=True).source is moved.source


def test_rows_may_be_arrays_of_any_integer_type() -> None:
    made = collate([np.array([5, 6], np.uint16)], [np.array([7], np.int32)], np.array([0]))
    assert made.source.tolist() == [[5, 6, EOS]] and made.labels.tolist() == [[7, EOS]]


def test_sources_alone_are_padded_for_inference() -> None:
    assert collate_source([[5], [6, 7]]).tolist() == [[5, EOS, PAD], [6, 7, EOS]]
