"""Keys and values kept between the steps of a search, so that each step computes one position only.

What was written stays where it is. The hypotheses of a sentence are branches of a tree: each row attends to all that
the rows of its sentence have written, under a bias that leaves it its own branch. So a beam that changes its order
moves nothing; and when sentences leave, the last ones move into the places that have become free, and no other.

B sentences at first, n sentences still there, W rows for each in a run (the beam), R = n * W rows
S source length, H heads, K head width, C capacity in positions, T target positions so far
w rows of a sentence in this step: W, but 1 at the first step, where all rows of a sentence are alike
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

FIRST_CAPACITY = 32
"""Positions that there is room for at first; the room doubles when it is full."""


class SelfCache:
    """Keys and values of the target positions so far, of one decoder layer, by place.

    Position by position, so that a step writes side by side what it takes in.

    Args:
        width: W.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.length = 0
        self._buffer: Tensor | None = None  # (2, C, W, B, H, K)
        self._positions: tuple[Tensor, ...] = ()  # C views (2, W, B, H, K)
        self._all: tuple[Tensor, Tensor]  # views of all keys and all values, (B * H, C * W, K) each

    def append(self, keys_values: Tensor) -> tuple[Tensor, Tensor]:
        """Take in one position, (n, w, 2, H, K), and return all keys and all values, (n * H, T * W, K) each."""
        if self.length == len(self._positions):
            self._grow(keys_values)
        count, _, _, heads, _ = keys_values.shape
        # One row of a sentence stands for all where there is one only.
        self._positions[self.length][:, :, :count].copy_(keys_values.permute(2, 1, 0, 3, 4))
        self.length += 1
        keys, values = self._all
        rows, positions = count * heads, self.length * self.width
        return keys[:rows, :positions], values[:rows, :positions]

    def move(self, old: Tensor, new: Tensor) -> None:
        """Let the sentences in the places `old` stand in the places `new`, (sentences,) int64 each."""
        if self._buffer is not None:
            used = self._buffer[:, : self.length]
            used[:, :, :, new] = used[:, :, :, old]

    def _grow(self, like: Tensor) -> None:
        """Make room for more positions."""
        old = self._buffer
        if old is None:
            count, _, _, heads, head_width = like.shape
            buffer = like.new_empty(2, FIRST_CAPACITY, self.width, count, heads, head_width)
        else:
            buffer = old.new_empty(2, 2 * self.length, *old.shape[2:])
            buffer[:, : self.length] = old
        self._buffer = buffer
        self._positions = buffer.unbind(1)
        keys, values = buffer.flatten(3, 4).flatten(1, 2).transpose(1, 2).unbind(0)
        self._all = keys, values


class CrossCache:
    """Keys and values of the encoder's output for one decoder layer, computed once, by place.

    Args:
        keys: (B, H, K, S), transposed as the product with the queries wants them.
        values: (B, H, S, K).
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self._keys, self._values = keys, values
        self._heads = keys.size(1)
        self._all = keys.flatten(0, 1), values.flatten(0, 1)  # views

    def of(self, count: int) -> tuple[Tensor, Tensor]:
        """Return the keys (n * H, K, S) and values (n * H, S, K) of the first n = `count` places."""
        keys, values = self._all
        rows = count * self._heads
        return keys[:rows], values[:rows]

    def move(self, old: Tensor, new: Tensor) -> None:
        """Let the sentences in the places `old` stand in the places `new`, (sentences,) int64 each."""
        self._keys[new] = self._keys[old]
        self._values[new] = self._values[old]


class LayerState(Protocol):
    """What one decoder layer keeps."""

    def advance(self, x: Tensor, count: int, biases: "StepBiases") -> Tensor:
        """Return (n * w, D) for the newest position `x` (n * w, D) of n = `count` sentences, and keep what it gives."""

    def move(self, old: Tensor, new: Tensor) -> None:
        """Let the sentences in the places `old` stand in the places `new`, (sentences,) int64 each."""


@dataclass(frozen=True)
class StepBiases:
    """What is added to the attention scores of a step in every layer: 0 = may attend, -inf = may not."""

    own: Tensor | None
    """(n * H, w, T * W) for what the target has so far; None allows everything."""
    cross: Tensor
    """(n * H, 1, S) for the source."""


class DecoderCache:
    """What the decoder keeps of n sentences with W rows each.

    Callers number the rows as they stand in `select`; in here a sentence has a place, which it keeps while it can.

    Args:
        layers: the decoder's layers at the beginning of a search.
        cross_mask: (B, 1, 1, S) bool, True = may attend.
        heads: H.
        width: W.
        dtype: of the biases, that of the scores.
    """

    def __init__(
        self, layers: Sequence[LayerState], cross_mask: Tensor, heads: int, width: int, dtype: torch.dtype
    ) -> None:
        self.layers = layers
        self.width = width
        self.count = len(cross_mask)
        """n."""
        self.length = 0
        """T."""
        self._heads = heads
        bias = torch.zeros(cross_mask.shape, dtype=dtype, device=cross_mask.device).masked_fill_(
            ~cross_mask, -torch.inf
        )
        self._cross_bias = bias.expand(-1, heads, -1, -1).contiguous()  # (B, H, 1, S), by place
        self._branches = bias.new_empty(self.count * width, 0, width)  # (R, T, W), by row
        self._own = bias.new_full((width, width), -torch.inf).fill_diagonal_(0.0)  # a row sees what it wrote itself
        self._places: Tensor | None = None  # (n,) where each sentence is; None means that each is at its number
        self._order: Tensor | None = None  # (n,) the sentence in each place

    def begin_step(self) -> StepBiases:
        """Count one more position and return the biases of this step."""
        self.length += 1
        cross = self._cross_bias[: self.count].flatten(0, 1)
        if self.width == 1:
            return StepBiases(None, cross)
        own = self._own.expand(self.count, -1, -1).reshape(-1, 1, self.width)  # (R, 1, W)
        self._branches = torch.cat((self._branches, own), dim=1)
        if self.length == 1:
            return StepBiases(None, cross)
        bias = self._branches.view(self.count, 1, self.width, -1)
        if self._order is not None:
            bias = bias.index_select(0, self._order)
        return StepBiases(bias.expand(-1, self._heads, -1, -1).flatten(0, 1), cross)

    def to_places(self, rows: Tensor) -> Tensor:
        """Return (n * w, ...), in the order of the rows, in the order of the places."""
        return self._permuted(rows, self._order)

    def from_places(self, placed: Tensor) -> Tensor:
        """Return (n * w, ...), in the order of the places, in the order of the rows."""
        return self._permuted(placed, self._places)

    def select(self, rows: Tensor) -> None:
        """Reorder, repeat and drop rows: row i becomes what row `rows[i]` was.

        Args:
            rows: (R',) int64, R' a multiple of W; each run of W comes from the rows of one sentence, and sentences keep
                their order.
        """
        if self.width > 1:
            self._branches = self._branches.index_select(0, rows)
        if len(rows) < self.count * self.width:
            self._keep(rows[:: self.width] // self.width)

    def _keep(self, sentences: Tensor) -> None:
        """Go on with `sentences` (n',) int64, rising; they fill the first n' places."""
        count = len(sentences)
        places = sentences if self._places is None else self._places[sentences]  # (n',)
        outside = places >= count
        free = torch.ones(count, dtype=torch.bool, device=places.device).index_fill_(0, places[~outside], False)
        old, new = places[outside], free.nonzero().squeeze(1)
        if len(old):
            self._cross_bias[new] = self._cross_bias[old]
            for layer in self.layers:
                layer.move(old, new)
            places = places.masked_scatter(outside, new)
        self.count = count
        self._places = places
        self._order = torch.empty_like(places)
        self._order[places] = torch.arange(count, device=places.device)

    def _permuted(self, x: Tensor, order: Tensor | None) -> Tensor:
        if order is None:
            return x
        return x.view(self.count, -1, *x.shape[1:]).index_select(0, order).flatten(0, 1)
