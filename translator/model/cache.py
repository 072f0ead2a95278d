"""Keys and values kept between the steps of a search, so that each step computes one position only.

R rows: W rows in a run (the beam) for each of B sentences, R = B * W
S source length, H heads, K head width, C capacity in positions
"""

from dataclasses import dataclass

import torch
from torch import Tensor

FIRST_CAPACITY = 32
"""Positions that there is room for at first; the room doubles when it is full."""


class SelfCache:
    """Keys and values of the target positions so far, of one decoder layer.

    Positions come first in memory: a new one is written in one piece, and the used part is one piece too.
    """

    def __init__(self) -> None:
        self.length = 0
        self._buffer: Tensor | None = None  # (C, 2, R, H, K)

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Take in one position, (R, H, 1, K) each, and return views of all, (R, H, length, K) each."""
        buffer = self._with_room(key)
        buffer[self.length, 0] = key.squeeze(2)
        buffer[self.length, 1] = value.squeeze(2)
        self.length += 1
        keys, values = buffer[: self.length].permute(1, 2, 3, 0, 4)  # (2, R, H, length, K)
        return keys, values

    def select(self, rows: Tensor) -> None:
        """Go on with `rows` (R',) int64: row i of the new cache is row `rows[i]` of the old one."""
        old = self._buffer
        if old is not None:
            self._buffer = old.new_empty(old.size(0), 2, len(rows), *old.shape[3:])
            torch.index_select(old[: self.length], 2, rows, out=self._buffer[: self.length])

    def _with_room(self, key: Tensor) -> Tensor:
        """Return the buffer, with room for one more position."""
        old = self._buffer
        if old is None:
            rows, heads, _, width = key.shape
            self._buffer = key.new_empty(FIRST_CAPACITY, 2, rows, heads, width)
        elif self.length == old.size(0):
            self._buffer = old.new_empty(2 * old.size(0), *old.shape[1:])
            self._buffer[: self.length] = old
        assert self._buffer is not None
        return self._buffer


@dataclass
class CrossCache:
    """Keys and values of the encoder's output for one decoder layer, computed once."""

    keys: Tensor
    """(B, H, S, K)."""
    values: Tensor
    """(B, H, S, K)."""

    def select(self, sentences: Tensor) -> None:
        """Go on with `sentences` (B',) int64."""
        self.keys = self.keys.index_select(0, sentences)
        self.values = self.values.index_select(0, sentences)


@dataclass
class LayerCache:
    """What one decoder layer keeps."""

    own: SelfCache
    cross: CrossCache


@dataclass
class DecoderCache:
    """What the decoder keeps of B sentences with W rows each."""

    layers: list[LayerCache]
    cross_mask: Tensor
    """(B, 1, 1, S) bool, True = may attend."""
    width: int
    """W, rows per sentence."""
    length: int = 0
    """Target positions taken in so far."""

    def select(self, rows: Tensor) -> None:
        """Reorder, repeat and drop rows: row i becomes what row `rows[i]` was.

        Args:
            rows: (R',) int64, R' a multiple of W; each run of W comes from the rows of one sentence.
        """
        for layer in self.layers:
            layer.own.select(rows)
        if len(rows) < self.width * len(self.cross_mask):  # sentences have left; otherwise their order is as it was
            sentences = rows[:: self.width] // self.width  # (B',)
            self.cross_mask = self.cross_mask.index_select(0, sentences)
            for layer in self.layers:
                layer.cross.select(sentences)
