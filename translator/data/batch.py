"""The frozen `Batch`, how rows of ids become one, and the batches of a step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from translator.data.batching import DataPosition
from translator.special_tokens import EOS, PAD, SOS


@dataclass(frozen=True)
class Batch:
    """Pairs computed together; a step may have several batches.

    B pairs, S and T the longest of each side with its special token.
    """

    source: Tensor
    """(B, S) int64: sentence, EOS, PAD…"""
    target_input: Tensor
    """(B, T) int64: SOS, sentence, PAD…"""
    labels: Tensor
    """(B, T) int64: sentence, EOS, PAD…"""
    indices: Tensor
    """(B,) int64: number of each pair in its split."""
    source_tokens: int
    """Positions of `source` that are not PAD; a plain number, so that asking never waits for a device."""
    target_tokens: int
    """Positions of `labels` that are not PAD."""

    @property
    def size(self) -> int:
        """Number of pairs."""
        return int(self.source.shape[0])

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        """Return the batch with its tensors on `device`.

        Args:
            device: where to.
            non_blocking: on the way to a GPU, go on while it copies; what is computed there waits for the copy.
        """
        # A copy to a GPU waits all the same unless it starts from pinned memory, which the GPU can read by itself.
        pin = non_blocking and torch.device(device).type == "cuda" and self.source.device.type == "cpu"

        def moved(tensor: Tensor) -> Tensor:
            return (tensor.pin_memory() if pin else tensor).to(device, non_blocking=pin)

        return Batch(
            moved(self.source),
            moved(self.target_input),
            moved(self.labels),
            moved(self.indices),
            self.source_tokens,
            self.target_tokens,
        )


@dataclass(frozen=True)
class StepBatches:
    """What one process computes of one update of the weights, and how much the whole update is."""

    batches: tuple[Batch, ...]
    """Of this process; none if the step has too few rows for all."""
    target_tokens: int
    """Of the whole step, all processes together, as are the two below."""
    source_tokens: int
    positions: int
    """Positions of all that is collated, both sides, padding included."""
    position: DataPosition
    """Where to go on after the step."""


def collate(sources: Sequence[ArrayLike], targets: Sequence[ArrayLike], indices: ArrayLike) -> Batch:
    """Return the batch of rows of ids without special tokens; `indices` (B,) are the pairs' numbers in their split.

    >>> batch = collate([[7, 8], [9]], [[10], [11, 12]], [0, 1])
    >>> batch.source.tolist()  # 3 is EOS, 0 is PAD
    [[7, 8, 3], [9, 3, 0]]
    >>> batch.target_input.tolist()  # 2 is SOS
    [[2, 10, 0], [2, 11, 12]]
    >>> batch.labels.tolist()
    [[10, 3, 0], [11, 12, 3]]
    """
    assert len(sources) == len(targets) > 0
    source, source_tokens = _pad(sources, EOS, in_front=False)
    target_input, _ = _pad(targets, SOS, in_front=True)
    labels, target_tokens = _pad(targets, EOS, in_front=False)
    numbers = torch.from_numpy(np.array(indices, dtype=np.int64))
    assert numbers.shape == (len(sources),)
    return Batch(source, target_input, labels, numbers, source_tokens, target_tokens)


def collate_source(sources: Sequence[ArrayLike]) -> Tensor:
    """Return (B, S) int64, sentence, EOS, PAD…, from rows of ids without special tokens."""
    return _pad(sources, EOS, in_front=False)[0]


def _pad(rows: Sequence[ArrayLike], special: int, *, in_front: bool) -> tuple[Tensor, int]:
    """Return rows with `special` before or after each, filled up with PAD, and the number of tokens."""
    arrays = [np.asarray(row, dtype=np.int64) for row in rows]
    width = max((len(array) for array in arrays), default=0) + 1
    padded: NDArray[np.int64] = np.full((len(arrays), width), PAD, dtype=np.int64)
    for line, array in zip(padded, arrays, strict=True):
        length = len(array)
        start = 1 if in_front else 0
        line[start : start + length] = array
        line[0 if in_front else length] = special
    return torch.from_numpy(padded), sum(map(len, arrays)) + len(arrays)
