"""The caches of a search: keys and values of earlier target positions and of the source.

The hypotheses of a sentence are branches of a tree. Each step adds an entry, a key and a value, for each of the W
hypotheses, and an entry never moves to another hypothesis. What changes is which entries a hypothesis attends to: those
of its branch. Here is a beam of three hypotheses x, y, z after three steps:

    position  0        1         2
    entry 0   SOS ─┬── the ──┬── cat   x        x attends to  0 · ·   0 · ·   0 · ·
    entry 1   SOS  ├── a ──┐ └── dog   y        y attends to  0 · ·   0 · ·   · 1 ·
    entry 2   SOS  └── one └──── cat   z        z attends to  0 · ·   · 1 ·   · · 2

The entries of a sentence are T * W keys in a row, position after position. Each hypothesis has a line of biases on
them, as on the right: 0 at an entry of its branch, -inf elsewhere. When a beam is reordered, `DecoderCache.select`
reorders these lines. Keys and values, which are far larger, stay where they are. An entry without a branch, such as
"one", stays without effect.

B sentences, n of them unfinished, W hypotheses of each (the beam), R = n * W hypotheses, T positions so far,
S source positions, H heads, K head width, C capacity in positions
w hypotheses of a sentence in a step: 1 at the first step, where all hypotheses of a sentence are equal, then W
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import torch
from torch import Tensor

FIRST_CAPACITY: Final = 32  # initial capacity of a cache in positions; a full cache doubles it


class KeyValue(NamedTuple):
    """Keys and values for one attention; a row of queries is a row of a batch, or a sentence of a search."""

    key: Tensor  # (rows, H, keys, K)
    value: Tensor  # (rows, H, keys, K)


class StepBiases(NamedTuple):
    """Biases on the attention scores of a step, the same in every layer: 0 = may attend, -inf = may not."""

    decoder: Tensor | None  # (n, H, W, T * W) for the target so far; None allows all positions
    cross: Tensor  # (n, H, 1, S) for the source


class LayerCache:
    """Keys and values of one decoder layer: those of the source, and the entries of all W hypotheses of each sentence.

    The entries are one buffer with two kinds of views. A step writes the newest position through a view by position,
    and reads all positions through one view of all keys and one of all values.
    """

    def __init__(self, source: KeyValue, width: int) -> None:
        """Take keys and values of the encoder's output, (B, H, S, K) each, and W, the hypotheses of a sentence."""
        # Keys are stored as (B, H, K, S), which more than halves the time of their product with few queries.
        key = source.key.transpose(2, 3).contiguous().transpose(2, 3)
        self._source = KeyValue(key, source.value.contiguous())
        self.width = width  # W
        self.length = 0  # T
        # The first dimension of the buffer is the position, so that a step writes contiguous memory.
        self._buffer: Tensor | None = None  # (C, W, 2, B, H, K) for a capacity of C positions
        self._positions: tuple[Tensor, ...] = ()  # C views (B, 2, H, W, K), one for each position
        self._all: KeyValue  # views of all keys and all values, (B, H, C * W, K) each

    def source_of(self, count: int) -> KeyValue:
        """Return keys and values of the source, of the sentences in the first `count` lanes."""
        return KeyValue(key=self._source.key[:count], value=self._source.value[:count])

    def append(self, new: KeyValue) -> KeyValue:
        """Append the keys and values of a position, (n, H, w, K) each; return those of all, (n, H, T * W, K) each."""
        if self.length == len(self._positions):
            self._grow(new.key)
        count = len(new.key)  # n
        # Write the newest entries. At the first step w is 1, and the assignment copies the entry to all W hypotheses.
        newest = self._positions[self.length][:count]  # (n, 2, H, W, K)
        newest[:, 0] = new.key
        newest[:, 1] = new.value
        self.length += 1
        # Return the entries of all hypotheses of a sentence: `_all` is another view of the same buffer. The biases of
        # the step let each hypothesis attend only to the entries of its branch.
        end = self.length * self.width
        return KeyValue(
            key=self._all.key[:count, :, :end],
            value=self._all.value[:count, :, :end],
        )

    def move(self, old: Tensor, new: Tensor) -> None:
        """Move the sentences in the lanes `old` to the lanes `new`, (sentences,) int64 each."""
        for tensor in self._source:
            tensor[new] = tensor[old]
        if self._buffer is not None:
            used = self._buffer[: self.length]
            used[:, :, :, new] = used[:, :, :, old]

    def _grow(self, like: Tensor) -> None:
        """Increase the capacity, for positions of the shape and type of `like` (n, H, w, K)."""
        # At the first position, no sentence has left: n is B. Later, copy the full buffer into one of twice its size.
        if self._buffer is None:
            sentences, heads, _, head_width = like.shape
            shape = (FIRST_CAPACITY, self.width, 2, sentences, heads, head_width)  # (C, W, 2, B, H, K)
            buffer = like.new_empty(shape)
        else:
            shape = (2 * self.length, *self._buffer.shape[1:])
            buffer = self._buffer.new_empty(shape)
            buffer[: self.length] = self._buffer
        self._buffer = buffer
        # Views by position, for writing: (C, B, 2, H, W, K).
        by_position = buffer.permute(0, 3, 2, 4, 1, 5)
        self._positions = by_position.unbind(0)
        # Views of all positions, for reading: (2, B, H, C * W, K).
        all_entries = buffer.flatten(0, 1)  # (C * W, 2, B, H, K)
        by_kind = all_entries.permute(1, 2, 3, 0, 4)
        self._all = KeyValue(key=by_kind[0], value=by_kind[1])


class DecoderCache:
    """The state of a search: the caches of every decoder layer, and the entries that each hypothesis may attend to.

    The memory of the caches has a lane for each sentence: an index of its dimension B. For example, the sentences a b c
    d e start in the lanes 0 to 4, and b leaves:

        sentences, for callers        a c d e        lane of each sentence     0 2 3 1
        lanes, after e moved to 1     a e c d        sentence in each lane     0 3 1 2

    So `to_lanes` of "a c d e" is "a e c d", and `to_sentences` is its inverse. When sentences leave the batch, those in
    the last lanes move into the free ones, so that the unfinished ones are always the first n lanes. All others keep
    their lanes, because a move copies keys and values. Callers know nothing of lanes: they number the unfinished
    sentences in their order, and hypotheses likewise, as they are after `select`.
    """

    def __init__(
        self,
        layers: Sequence[LayerCache],
        cross_mask: Tensor,
        heads: int,
        width: int,
        dtype: torch.dtype,
    ) -> None:
        """Take the empty caches of all layers.

        Args:
            layers: one for each decoder layer.
            cross_mask: (B, 1, 1, S) bool, True = may attend.
            heads: H, the attention heads of a layer.
            width: W, the hypotheses of a sentence.
            dtype: type of the attention scores.
        """
        self.layers = layers
        self.width = width
        self.count = len(cross_mask)  # n
        self.length = 0  # T
        self._heads = heads
        # Two permutations, (n,) each, the inverses of each other; None as long as they are the identity.
        self._lane_of_sentence: Tensor | None = None
        self._sentence_in_lane: Tensor | None = None

        # Biases: 0 = may attend, -inf = may not. Those on the source never change. Those on the target, `_branches`,
        # grow in each step by the W entries of the newest position.
        source_bias = torch.zeros(cross_mask.shape, dtype=dtype, device=cross_mask.device)
        source_bias.masked_fill_(~cross_mask, -torch.inf)
        self._source_bias = source_bias.expand(-1, heads, -1, -1).contiguous()  # (B, H, 1, S), by lane
        self._branches = source_bias.new_empty(self.count * width, 0, width)  # (R, T, W), by hypothesis
        # At the newest position, a hypothesis attends to its own entry only: 0 on the diagonal, -inf elsewhere.
        self._newest = source_bias.new_full((width, width), -torch.inf).fill_diagonal_(0.0)

    def begin_step(self) -> StepBiases:
        """Advance by one position and return the biases of this step."""
        self.length += 1
        cross = self._source_bias[: self.count]
        if self.width == 1:
            # The only hypothesis of a sentence may attend to all its positions.
            return StepBiases(decoder=None, cross=cross)
        # Each hypothesis continues its branch with its own entry of the newest position.
        newest = self._newest.expand(self.count, -1, -1)  # (n, W, W)
        newest = newest.reshape(-1, 1, self.width)  # (R, 1, W)
        self._branches = torch.cat((self._branches, newest), dim=1)
        if self.length == 1:
            # At the first step, the W entries of a sentence are copies of one entry: it may attend to all of them.
            return StepBiases(decoder=None, cross=cross)
        # All heads have the same bias, but the batched product needs a copy for each head. Make the copies once, not in
        # each layer.
        branches = self._branches.view(self.count, 1, self.width, -1)  # (n, 1, W, T * W)
        branches = self.to_lanes(branches).expand(-1, self._heads, -1, -1)
        return StepBiases(decoder=branches.contiguous(), cross=cross)

    def to_lanes(self, x: Tensor) -> Tensor:
        """Return `x` (n, ...) in the order of the lanes, for `x` in the caller's order of sentences."""
        return x if self._sentence_in_lane is None else x.index_select(0, self._sentence_in_lane)

    def to_sentences(self, x: Tensor) -> Tensor:
        """Return `x` (n, ...) in the caller's order of sentences, for `x` in the order of the lanes."""
        return x if self._lane_of_sentence is None else x.index_select(0, self._lane_of_sentence)

    def select(self, rows: Tensor) -> None:
        """Replace hypothesis i by hypothesis `rows[i]`, for `rows` (R',) int64.

        Each run of W rows is of one sentence, and the sentences keep their order (`SearchState.select` of search.py).
        """
        # A hypothesis takes over the branch of the one that it continues.
        if self.width > 1:
            self._branches = self._branches.index_select(0, rows)
        # Sentences without rows have ended: free their lanes.
        if len(rows) < self.count * self.width:
            first_rows = rows[:: self.width]  # (n',) one row of each sentence that stays
            self._keep_only(first_rows // self.width)

    def _keep_only(self, sentences: Tensor) -> None:
        """Keep only `sentences` (n',) int64, ascending, in the first n' lanes; all others have ended."""
        # 1. Find the lane of each sentence that stays.
        count = len(sentences)
        lane_numbers = torch.arange(self.count, device=sentences.device)
        lane_of_sentence = self.to_sentences(lane_numbers)  # (n,)
        lanes = lane_of_sentence[sentences]  # (n',)

        # 2. Move the sentences in lanes from n' on to the free lanes below n'; there are equally many of both.
        must_move = lanes >= count  # (n',)
        is_free = torch.ones(count, dtype=torch.bool, device=lanes.device)  # (n',)
        is_free.index_fill_(0, lanes[~must_move], False)
        old_lanes = lanes[must_move]
        free_lanes = is_free.nonzero().squeeze(1)
        if len(old_lanes) > 0:
            self._source_bias[free_lanes] = self._source_bias[old_lanes]
            for layer in self.layers:
                layer.move(old_lanes, free_lanes)
            lanes = lanes.masked_scatter(must_move, free_lanes)  # in the same order as the moves

        # 3. Remember the lane of each sentence, and the inverse permutation.
        self.count = count
        self._lane_of_sentence = lanes
        self._sentence_in_lane = torch.empty_like(lanes)
        self._sentence_in_lane[lanes] = torch.arange(count, device=lanes.device)
