"""The immutable `Batch`, collation of rows of ids, and the batches of a step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from translator.data.batching import DataPosition
from translator.special_tokens import EOS, PAD, SOS


@dataclass(frozen=True)
class Batch:
    """A batch of B pairs; S and T are the longest source and target with their special token."""

    source: Tensor  # (B, S) int64: sentence, EOS, PAD…
    target_input: Tensor  # (B, T) int64: SOS, sentence, PAD…
    labels: Tensor  # (B, T) int64: sentence, EOS, PAD…
    indices: Tensor  # (B,) int64: number of each pair in its split
    source_tokens: int
    target_tokens: int  # positions of `labels` that are not PAD, as an int: reading it needs no GPU synchronization

    @property
    def size(self) -> int:
        """Number of pairs."""
        return int(self.source.shape[0])

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        """Return the batch with its tensors on `device`; with `non_blocking`, the transfer to a GPU is asynchronous."""
        # A copy to a GPU is asynchronous only from pinned memory.
        pin = non_blocking and torch.device(device).type == "cuda" and self.source.device.type == "cpu"

        def moved(tensor: Tensor) -> Tensor:
            return (tensor.pin_memory() if pin else tensor).to(device, non_blocking=pin)

        source, target_input, labels, indices = map(moved, (self.source, self.target_input, self.labels, self.indices))
        return Batch(source, target_input, labels, indices, self.source_tokens, self.target_tokens)


@dataclass(frozen=True)
class StepBatches:
    """The batches of one process in one update of the weights, and totals over all processes."""

    batches: tuple[Batch, ...]  # of this process; empty if the step has too few rows for all processes
    target_tokens: int
    source_tokens: int  # tokens of the whole step, all processes together
    positions: int  # positions of the whole step, both sides, padding included
    position: DataPosition  # of the next step


def collate(sources: Sequence[ArrayLike], targets: Sequence[ArrayLike], indices: ArrayLike) -> Batch:
    """Return the batch of rows of ids without special tokens; `indices` (B,) are the pair numbers in their split.

    >>> batch = collate([[7, 8], [9]], [[10], [11, 12]], [0, 1])
    >>> batch.source.tolist()  # 3 is EOS, 0 is PAD
    [[7, 8, 3], [9, 3, 0]]
    >>> batch.target_input.tolist()  # 2 is SOS
    [[2, 10, 0], [2, 11, 12]]
    >>> batch.labels.tolist()
    [[10, 3, 0], [11, 12, 3]]
    """
    source, source_tokens = _pad(sources, EOS)
    target_input, target_tokens = _pad(targets, SOS, in_front=True)
    labels, _ = _pad(targets, EOS)
    numbers = torch.from_numpy(np.array(indices, dtype=np.int64))
    assert len(source) == len(labels) == len(numbers) > 0
    return Batch(source, target_input, labels, numbers, source_tokens, target_tokens)


def collate_source(sources: Sequence[ArrayLike]) -> Tensor:
    """Return rows of ids without special tokens as (B, S) int64: sentence, EOS, PAD…."""
    return _pad(sources, EOS)[0]


def _pad(rows: Sequence[ArrayLike], special: int, *, in_front: bool = False) -> tuple[Tensor, int]:
    """Return rows with `special` before or after each, padded with PAD, and the number of tokens."""
    arrays = [np.asarray(row, dtype=np.int64) for row in rows]
    width = max(map(len, arrays), default=0) + 1
    padded = np.full((len(arrays), width), PAD, dtype=np.int64)
    for line, array in zip(padded, arrays, strict=True):
        length, start = len(array), int(in_front)
        line[start : start + length] = array
        line[0 if in_front else length] = special
    return torch.from_numpy(padded), sum(map(len, arrays)) + len(arrays)
