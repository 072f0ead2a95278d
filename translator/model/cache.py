"""Keys and values kept between the steps of a search, so that each step computes one position only.

What was written stays where it is. The hypotheses of a sentence are branches of a tree: each row attends to all that
the rows of its sentence have written, under a bias that leaves it its own branch. So a beam that changes its order
moves nothing; and when sentences leave, the last ones move into the places that have become free, and no other.

B sentences at first, n sentences still there, W rows for each in a run (the beam), R = n * W rows
S source length, H heads, K head width, C capacity in positions, T target positions so far
w rows of a sentence in this step: W, but 1 at the first step, where all rows of a sentence are alike
"""

from dataclasses import dataclass

import torch
from torch import Tensor

FIRST_CAPACITY = 32
"""Positions that there is room for at first; the room doubles when it is full."""


class SelfCache:
    """Keys and values of the target positions so far, of one decoder layer, by place.

    Args:
        width: W.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.length = 0
        self._buffer: Tensor | None = None  # (2, B, H, C, W, K)

    def append(self, keys_values: Tensor) -> tuple[Tensor, Tensor]:
        """Take in one position, (n, w, 2, H, K), and return all keys and all values, (n * H, T * W, K) each."""
        count, _, _, heads, head_width = keys_values.shape
        buffer = self._with_room(keys_values)
        buffer[:, :count, :, self.length] = keys_values.permute(2, 0, 3, 1, 4)  # one row of a sentence stands for all
        self.length += 1
        of_all = buffer.view(2, -1, buffer.size(3) * self.width, head_width)  # (2, B * H, C * W, K)
        keys, values = of_all[:, : count * heads, : self.length * self.width]
        return keys, values

    def move(self, old: Tensor, new: Tensor) -> None:
        """Let the sentences in the places `old` stand in the places `new`, (sentences,) int64 each."""
        if self._buffer is not None:
            used = self._buffer[:, :, :, : self.length]
            used[:, new] = used[:, old]

    def _with_room(self, like: Tensor) -> Tensor:
        """Return the buffer, with room for one more position."""
        old = self._buffer
        if old is None:
            count, _, _, heads, head_width = like.shape
            self._buffer = like.new_empty(2, count, heads, FIRST_CAPACITY, self.width, head_width)
        elif self.length == old.size(3):
            self._buffer = old.new_empty(*old.shape[:3], 2 * self.length, *old.shape[4:])
            self._buffer[:, :, :, : self.length] = old
        assert self._buffer is not None
        return self._buffer


@dataclass(frozen=True)
class CrossCache:
    """Keys and values of the encoder's output for one decoder layer, computed once, by place."""

    keys: Tensor
    """(B, H, K, S), transposed as the product with the queries wants them."""
    values: Tensor
    """(B, H, S, K)."""

    def move(self, old: Tensor, new: Tensor) -> None:
        """Let the sentences in the places `old` stand in the places `new`, (sentences,) int64 each."""
        self.keys[new] = self.keys[old]
        self.values[new] = self.values[old]


@dataclass(frozen=True)
class LayerCache:
    """What one decoder layer keeps."""

    own: SelfCache
    cross: CrossCache


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
        layers: an empty cache for each layer.
        cross_mask: (B, 1, 1, S) bool, True = may attend.
        heads: H.
        width: W.
    """

    def __init__(
        self, layers: list[LayerCache], cross_mask: Tensor, heads: int, width: int, dtype: torch.dtype
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
                layer.own.move(old, new)
                layer.cross.move(old, new)
            places = places.masked_scatter(outside, new)
        self.count = count
        self._places = places
        self._order = torch.empty_like(places)
        self._order[places] = torch.arange(count, device=places.device)

    def _permuted(self, x: Tensor, order: Tensor | None) -> Tensor:
        if order is None:
            return x
        return x.view(self.count, -1, *x.shape[1:]).index_select(0, order).flatten(0, 1)
