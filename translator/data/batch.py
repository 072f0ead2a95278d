"""The immutable `Batch`: rows of several sentence pairs, as one tensor of fixed shape.

R rows, L positions of a row on either side, N sentence pairs of the batch
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import with_config
from torch import Tensor

from translator.run.records import STRICT, WholeNumber
from translator.special_tokens import EOS, PAD, SOS

Ids = NDArray[np.int32]
Numbers = NDArray[np.int64]
Lengths = NDArray[np.int32] | NDArray[np.int64]


@with_config(STRICT)
@dataclass(frozen=True)
class DataPosition:
    """The position of the next batch: its first row, in the plan of its epoch (both from 0)."""

    epoch: WholeNumber = 0
    row: WholeNumber = 0

    def state_dict(self) -> dict[str, int]:
        """Return the position as JSON values; `DataPosition(**state)` restores it."""
        return {"epoch": self.epoch, "row": self.row}


@dataclass(frozen=True)
class Batch:
    """R rows of L positions per side; a row holds several pairs, in the same order on both sides, then PAD."""

    fields: Tensor  # (7, R, L) int64: the properties below as one tensor, so that one transfer moves a batch
    pairs: Numbers  # (N,) number of each pair in its split, row after row
    pair_counts: Numbers  # (R,) number of pairs in each row
    source_lengths: Numbers  # (N,) tokens of each source sentence, with EOS
    target_lengths: Numbers  # (N,) tokens of each target sentence, with EOS

    @property
    def source(self) -> Tensor:
        """(R, L) ids: each sentence with its EOS."""
        return self.fields[0]

    @property
    def target_input(self) -> Tensor:
        """(R, L) ids: SOS before each sentence."""
        return self.fields[1]

    @property
    def labels(self) -> Tensor:
        """(R, L) ids: each sentence with its EOS; the token to predict from `target_input` up to this position."""
        return self.fields[2]

    @property
    def source_sentence(self) -> Tensor:
        """(R, L) number of the sentence in its row, from 1; 0 at PAD."""
        return self.fields[3]

    @property
    def target_sentence(self) -> Tensor:
        """(R, L) number of the sentence in its row, from 1; 0 at PAD."""
        return self.fields[4]

    @property
    def source_position(self) -> Tensor:
        """(R, L) index of the token in its own sentence, from 0."""
        return self.fields[5]

    @property
    def target_position(self) -> Tensor:
        """(R, L) index of the token in its own sentence, from 0."""
        return self.fields[6]

    @property
    def size(self) -> int:
        """Number of pairs, N."""
        return len(self.pairs)

    @property
    def source_tokens(self) -> int:
        """Source positions that are not PAD."""
        return int(self.source_lengths.sum())

    @property
    def target_tokens(self) -> int:
        """Target positions that are not PAD."""
        return int(self.target_lengths.sum())

    @property
    def positions(self) -> int:
        """Positions of both sides, PAD included."""
        return self.source.numel() + self.labels.numel()

    def sum_by_sentence(self, values: Tensor) -> NDArray[np.float64]:
        """Return (N,): the sum over each target sentence of `values` (R, L), which are on the CPU."""
        # The tokens of a sentence are neighbours, and the sentences follow each other in the order of the pairs.
        is_token = (self.target_sentence > 0).numpy()
        of_tokens = values.double().numpy()[is_token]  # (target tokens,)
        if len(of_tokens) == 0:
            return np.zeros(0)
        first_tokens = np.cumsum(self.target_lengths) - self.target_lengths  # (N,)
        sums: NDArray[np.float64] = np.add.reduceat(of_tokens, first_tokens)
        return sums

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the tensors as an array: torch's way would leave them in memory shared with the other process."""
        fields = self.fields.numpy().astype(np.int32)  # half of the bytes to send
        arguments = (fields, self.pairs, self.pair_counts, self.source_lengths, self.target_lengths)
        return _batch_of_arrays, arguments

    def to(self, device: torch.device | str) -> "Batch":
        """Return the batch with its tensors on `device`; the transfer of pinned memory to a GPU is asynchronous."""
        return replace(self, fields=self.fields.to(device, non_blocking=True))

    def pin_memory(self) -> "Batch":
        """Return the batch in page-locked memory, from which a GPU copies while the program goes on."""
        return replace(self, fields=self.fields.pin_memory())


def _batch_of_arrays(fields: NDArray[np.int32], *numbers: Numbers) -> Batch:
    """Return the batch that `Batch.__reduce__` took apart."""
    return Batch(torch.from_numpy(fields.astype(np.int64)), *numbers)


@dataclass(frozen=True)
class StepBatches:
    """The batches of one rank in one update of the weights, and totals over all ranks."""

    batches: tuple[Batch, ...]  # the micro-batches of this rank
    # Totals of the whole update over all ranks.
    target_tokens: int
    source_tokens: int
    positions: int  # both sides, PAD included
    position: DataPosition  # of the next update


def collate(
    source_ids: Ids,
    target_ids: Ids,
    source_lengths: Lengths,
    target_lengths: Lengths,
    pairs: Numbers,
    pair_counts: Numbers,
    row_length: int,
) -> Batch:
    """Return the batch of N pairs in R rows.

    Args:
        source_ids: ids of all source sentences, one after the other, without special tokens.
        target_ids: the same for the target.
        source_lengths: (N,) tokens of each source sentence, its EOS included.
        target_lengths: (N,) tokens of each target sentence, its EOS included.
        pairs: (N,) number of each pair in its split.
        pair_counts: (R,) number of pairs in each row; 0 for an empty row.
        row_length: L.
    """
    source_lengths = source_lengths.astype(np.int64)
    target_lengths = target_lengths.astype(np.int64)
    source = _Side.place(source_lengths, pair_counts, row_length)
    target = _Side.place(target_lengths, pair_counts, row_length)
    # In the order of the properties of `Batch`.
    fields = np.stack(
        [
            source.spread(source.with_eos(source_ids)),
            target.spread(target.with_sos(target_ids)),
            target.spread(target.with_eos(target_ids)),
            source.spread(source.sentence),
            target.spread(target.sentence),
            source.spread(source.position),
            target.spread(target.position),
        ]
    )
    return Batch(
        fields=torch.from_numpy(fields),
        pairs=pairs,
        pair_counts=pair_counts,
        source_lengths=source_lengths,
        target_lengths=target_lengths,
    )


@dataclass(frozen=True)
class _Side:
    """Where the tokens of one side stand in the rows of a batch. M counts tokens, with EOS or SOS."""

    shape: tuple[int, int]  # R, L
    cells: Numbers  # (M,) index of each token in the flat (R · L,) row tensor
    sentence: Numbers  # (M,) number of its sentence in the row, from 1
    position: Numbers  # (M,) index in its sentence, from 0
    remaining: Numbers  # (M,) tokens of its sentence that follow; 0 at the last

    @classmethod
    def place(cls, lengths: Numbers, pair_counts: Numbers, row_length: int) -> "_Side":
        """Return the places of sentences of `lengths` (N,), of which `pair_counts` (R,) share each row."""
        ends = np.cumsum(lengths)  # (N,) in the sequence of all tokens
        begins = ends - lengths
        # The first sentence of each row begins at position 0 of the row.
        first = np.cumsum(pair_counts) - pair_counts  # (R,)
        row = np.repeat(np.arange(len(pair_counts)), pair_counts)  # (N,) of each sentence
        number = np.arange(len(lengths)) - first[row]  # (N,) in its row, from 0
        offset = begins - begins[first[row]]  # (N,) in its row
        position = np.arange(int(lengths.sum())) - np.repeat(begins, lengths)
        return cls(
            shape=(len(pair_counts), row_length),
            cells=np.repeat(row * row_length + offset, lengths) + position,
            sentence=np.repeat(number + 1, lengths),
            position=position,
            remaining=np.repeat(lengths, lengths) - position - 1,
        )

    def with_eos(self, ids: Ids) -> Numbers:
        """Return the tokens (M,): `ids` with EOS after each sentence."""
        tokens = np.full(len(self.cells), EOS, np.int64)
        tokens[self.remaining > 0] = ids
        return tokens

    def with_sos(self, ids: Ids) -> Numbers:
        """Return the tokens (M,): `ids` with SOS before each sentence."""
        tokens = np.full(len(self.cells), SOS, np.int64)
        tokens[self.position > 0] = ids
        return tokens

    def spread(self, values: Numbers) -> Numbers:
        """Return the row tensor (R, L) with `values` (M,) in their cells, and 0 elsewhere."""
        row_tensor = np.zeros(self.shape, np.int64)
        row_tensor.reshape(-1)[self.cells] = values
        return row_tensor


def collate_rows(rows: Sequence[Sequence[tuple[Sequence[int], Sequence[int]]]], row_length: int | None = None) -> Batch:
    """Return the batch whose rows hold these pairs of ids without special tokens, numbered from 0.

    `row_length` is L; by default, that of the longest row.

    >>> batch = collate_rows([[([7, 8], [10]), ([9], [11, 12])]])
    >>> batch.source.tolist()  # 3 is EOS, 0 is PAD
    [[7, 8, 3, 9, 3]]
    >>> batch.target_input.tolist()  # 2 is SOS
    [[2, 10, 2, 11, 12]]
    >>> batch.labels.tolist()
    [[10, 3, 11, 12, 3]]
    >>> batch.target_sentence.tolist()
    [[1, 1, 2, 2, 2]]
    >>> batch.target_position.tolist()
    [[0, 1, 0, 1, 2]]
    """
    # 1. The pairs of all rows, one after the other.
    pairs: list[tuple[Sequence[int], Sequence[int]]] = []
    for row in rows:
        pairs += row
    sources = [np.asarray(source, np.int32) for source, _ in pairs]
    targets = [np.asarray(target, np.int32) for _, target in pairs]
    source_lengths = np.array([len(source) + 1 for source in sources], np.int64)
    target_lengths = np.array([len(target) + 1 for target in targets], np.int64)
    pair_counts = np.array([len(row) for row in rows], np.int64)

    # 2. By default, rows are as long as the longest.
    if row_length is None:
        row_length = 0
        for row in rows:
            row_sources = sum(len(source) + 1 for source, _ in row)
            row_targets = sum(len(target) + 1 for _, target in row)
            row_length = max(row_length, row_sources, row_targets)

    # 3. The ids of each side as one array; numpy cannot join none.
    nothing = [np.zeros(0, np.int32)]
    return collate(
        source_ids=np.concatenate(sources or nothing),
        target_ids=np.concatenate(targets or nothing),
        source_lengths=source_lengths,
        target_lengths=target_lengths,
        pairs=np.arange(len(pairs)),
        pair_counts=pair_counts,
        row_length=row_length,
    )


def collate_source(sources: Sequence[Sequence[int]]) -> Tensor:
    """Return sentences of ids without special tokens as (B, S) int64, one per row: sentence, EOS, PAD…."""
    longest = max(map(len, sources), default=0)
    tokens = np.full((len(sources), longest + 1), PAD, np.int64)
    for row, ids in zip(tokens, sources, strict=True):
        length = len(ids)
        row[:length] = ids
        row[length] = EOS
    return torch.from_numpy(tokens)
