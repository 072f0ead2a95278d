"""The immutable `Batch`: rows of several sentence pairs, as one tensor of fixed shape.

A row of 8 positions with two pairs, the source a b with the target A, and the source c with the target C D:

    source            a    b    EOS  c    EOS  PAD  PAD  PAD
    source_sentence   1    1    1    2    2    0    0    0
    source_position   0    1    2    0    1    0    0    0

    target_input      SOS  A    SOS  C    D    PAD  PAD  PAD
    labels            A    EOS  C    D    EOS  PAD  PAD  PAD
    target_sentence   1    1    2    2    2    0    0    0
    target_position   0    1    0    1    2    0    0    0

The two sides need not have their sentences at the same positions: only their numbers agree.

R rows, L positions of a row on either side, N sentence pairs of the batch
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from translator.core import EOS, PAD, SOS

Ids = NDArray[np.int32]
Numbers = NDArray[np.int64]
Lengths = NDArray[np.int32] | NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """R rows of L positions per side; a row holds several pairs, in the same order on both sides, then PAD."""

    fields: Tensor  # (7, R, L) int64: the lines of the picture above as one tensor, so that one transfer moves a batch
    pairs: Numbers  # (N,) number of each pair in its split, row after row
    pair_counts: Numbers  # (R,) number of pairs in each row
    source_lengths: Numbers  # (N,) tokens of each source sentence, with EOS
    target_lengths: Numbers  # (N,) tokens of each target sentence, with EOS

    @property
    def source(self) -> Tensor:
        """(R, L) ids: each sentence with its EOS."""
        return self.fields[0]

    @property
    def source_sentence(self) -> Tensor:
        """(R, L) number of the sentence in its row, from 1; 0 at PAD."""
        return self.fields[1]

    @property
    def source_position(self) -> Tensor:
        """(R, L) index of the token in its own sentence, from 0."""
        return self.fields[2]

    @property
    def target_input(self) -> Tensor:
        """(R, L) ids: SOS before each sentence."""
        return self.fields[3]

    @property
    def labels(self) -> Tensor:
        """(R, L) ids: each sentence with its EOS; the token to predict from `target_input` up to this position."""
        return self.fields[4]

    @property
    def target_sentence(self) -> Tensor:
        """(R, L) number of the sentence in its row, from 1; 0 at PAD."""
        return self.fields[5]

    @property
    def target_position(self) -> Tensor:
        """(R, L) index of the token in its own sentence, from 0."""
        return self.fields[6]

    @property
    def target_tokens(self) -> int:
        """Target positions that are not PAD."""
        return int(self.target_lengths.sum())

    def twice(self) -> "Batch":
        """Return the batch of 2 R rows that has every row of this one, and then every row again."""
        return Batch(
            fields=torch.cat((self.fields, self.fields), dim=1),
            pairs=np.tile(self.pairs, 2),
            pair_counts=np.tile(self.pair_counts, 2),
            source_lengths=np.tile(self.source_lengths, 2),
            target_lengths=np.tile(self.target_lengths, 2),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a process that makes batches send one as arrays: torch would leave it in memory that both share."""
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
    """What one rank gets for one update of the weights."""

    batches: tuple[Batch, ...]  # the micro-batches of this rank
    target_tokens: int  # of the whole update, over all ranks
    next_position: Any = None  # where the next update begins in the data, for a restart: only the data's maker reads it


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
    source_fields = _fields_of_side(source_ids, source_lengths, pair_counts, row_length)  # (4, R, L)
    target_fields = _fields_of_side(target_ids, target_lengths, pair_counts, row_length)  # (4, R, L)
    # The first field of a side, its ids with SOS, is the decoder's input. The source does not need this field.
    fields = np.concatenate((source_fields[1:], target_fields))  # (7, R, L)
    return Batch(
        fields=torch.from_numpy(fields),
        pairs=pairs,
        pair_counts=pair_counts,
        source_lengths=source_lengths,
        target_lengths=target_lengths,
    )


def _fields_of_side(ids: Ids, lengths: Numbers, pair_counts: Numbers, row_length: int) -> Numbers:
    """Return the fields (4, R, L) of one side: ids with SOS, ids with EOS, sentence numbers, positions.

    The arguments are those of `collate`: `lengths` count a special token per sentence, `ids` have none. All M tokens of
    the side are placed at once, without a loop over sentences.
    """
    # 1. For each of the N sentences: its row, its number in the row, and its offset from the beginning of the row.
    begins = np.cumsum(lengths) - lengths  # (N,) place of its first token among all M tokens
    row_starts = np.cumsum(pair_counts) - pair_counts  # (R,) index of the first sentence of each row
    row = np.repeat(np.arange(len(pair_counts)), pair_counts)  # (N,)
    first_in_row = row_starts[row]  # (N,) index of the first sentence of its row
    number = np.arange(1, len(lengths) + 1) - first_in_row  # (N,) from 1
    offset = begins - begins[first_in_row]  # (N,) in tokens

    # 2. For each of the M tokens: its position in its sentence, and its cell in the flat (R · L,) row tensor.
    position = np.arange(int(lengths.sum())) - np.repeat(begins, lengths)  # (M,)
    cells = np.repeat(row * row_length + offset, lengths) + position  # (M,)

    # 3. The id of each token, in two forms: a sentence begins with SOS in the first, and ends with EOS in the second.
    with_sos = np.full(len(cells), SOS, np.int64)
    with_sos[position > 0] = ids
    last_position = np.repeat(lengths - 1, lengths)  # (M,) of the token's sentence
    with_eos = np.full(len(cells), EOS, np.int64)
    with_eos[position < last_position] = ids

    # 4. Put each token into its cell; cells without a token stay 0, which is PAD.
    numbers = np.repeat(number, lengths)  # (M,)
    fields = np.zeros((4, len(pair_counts), row_length), np.int64)
    for field, values in zip(fields, (with_sos, with_eos, numbers, position), strict=True):
        field.reshape(-1)[cells] = values
    return fields


def collate_rows(rows: Sequence[Sequence[tuple[Sequence[int], Sequence[int]]]], row_length: int | None = None) -> Batch:
    """Return the batch of `rows`, each a sequence of pairs; a pair is the ids of both sides, without special tokens.

    The pairs are numbered from 0. `row_length` is L; by default, that of the longest row.

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
    # 1. The pairs of all rows, one after the other; their lengths include a special token.
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

    # 3. Join the ids of each side. numpy cannot concatenate an empty list, so without pairs `nothing` replaces it.
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
