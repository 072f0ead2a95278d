"""Fewer shapes of batches, by padding: compiled code takes any shape, but a CUDA graph is for one alone.

On the batches of the sample and of Mizan, lengths that are multiples of 8 alone were found to take 14% to 30% more
positions, and the few shapes that CUDA graphs want 25% to 42%. Code compiled for any shape pays nothing of that.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import torch.nn.functional as F
from torch import Tensor

from translator.data import Batch
from translator.special_tokens import EOS, PAD, SOS

_TILE: Final = 8
"""Sizes of a grid are multiples of this: fused attention reads masks in such pieces."""
_ROWS_PER_OCTAVE: Final = 4
"""Numbers of rows between one and its double."""


@dataclass(frozen=True)
class ShapeGrid:
    """The sizes that batches are padded to; a size beyond the last stays as it is."""

    lengths: tuple[int, ...]
    """Ascending, of either side."""
    rows: tuple[int, ...]
    """Ascending, of the batch."""

    @classmethod
    def few_shapes(cls, tokens_per_batch: int, max_length: int) -> "ShapeGrid":
        """Return a grid of few shapes that covers every batch of these limits."""
        lengths: list[int] = []
        for step, end in ((8, 64), (16, 128), (32, 256), (64, max_length + 64)):
            lengths += range((lengths[-1] if lengths else 0) + step, end + 1, step)
        reached = next(place for place, length in enumerate(lengths) if length >= max_length)
        rows = [_TILE]
        while rows[-1] < tokens_per_batch:
            next_rows = rows[-1] * 2.0 ** (1 / _ROWS_PER_OCTAVE)
            rows.append(max(rows[-1] + _TILE, round(next_rows / _TILE) * _TILE))
        return cls(tuple(lengths[: reached + 1]), tuple(rows))


ANY_SIZE: Final = ShapeGrid((2,), (2,))
"""For code that is compiled once for all shapes: torch takes a size of 1 as a case of its own."""


def pad_to_grid(batch: Batch, grid: ShapeGrid) -> Batch:
    """Return `batch` with PAD columns and rows added on both sides up to the sizes of `grid`.

    What is added costs nothing and teaches nothing: its labels are PAD. An added row has one token on either side, so
    that attention always has something to attend to. Indices and token counts stay those of the pairs: there are as
    many indices as before, and the losses of added rows come after the others and are zero.
    """
    rows = _up(batch.size, grid.rows)
    source_length = _up(batch.source.size(1), grid.lengths)
    target_length = _up(batch.labels.size(1), grid.lengths)
    return Batch(
        _padded(batch.source, rows, source_length, EOS),
        _padded(batch.target_input, rows, target_length, SOS),
        _padded(batch.labels, rows, target_length, PAD),
        batch.indices,
        batch.source_tokens,
        batch.target_tokens,
    )


def _up(size: int, sizes: tuple[int, ...]) -> int:
    """Return the smallest of `sizes` that is not below `size`, or `size` if all are."""
    return next((larger for larger in sizes if larger >= size), size)


def _padded(tokens: Tensor, rows: int, length: int, first: int) -> Tensor:
    """Return `tokens` (B, L) as (rows, length), each added row beginning with `first`."""
    added = rows - tokens.size(0)
    if not added and length == tokens.size(1):
        return tokens
    padded = F.pad(tokens, (0, length - tokens.size(1), 0, added), value=PAD)
    padded[tokens.size(0) :, 0] = first
    return padded


@dataclass(frozen=True)
class PaddingCost:
    """What a grid makes of some batches."""

    shapes: int
    """Different shapes."""
    positions: int
    """Positions of both sides, padding included."""
    planned_positions: int
    """The same before padding to the grid."""


def padding_cost(batches: Iterable[Batch], grid: ShapeGrid) -> PaddingCost:
    """Return how many shapes `grid` leaves of `batches`, and how many positions it takes."""
    shapes: set[tuple[int, int, int]] = set()
    positions = planned = 0
    for batch in batches:
        rows = _up(batch.size, grid.rows)
        source, target = (_up(side.size(1), grid.lengths) for side in (batch.source, batch.labels))
        shapes.add((rows, source, target))
        positions += rows * (source + target)
        planned += batch.source.numel() + batch.labels.numel()
    return PaddingCost(len(shapes), positions, planned)
