"""Which pairs go together: batches of like lengths on both sides, within a token budget, seeded, and resumable.

Padding comes from rows of unlike length, so a batch is a small rectangle in the plane of both lengths. Pairs are
ordered by their longer side into strips of a few batches each, and inside a strip by the difference of the sides, there
and back (snake order). That line of pairs is cut into batches by dynamic programming: the cut that takes the
fewest positions, where each batch costs a little on its own. A large corpus gives full batches with hardly any padding;
a small one, whose pairs are too unlike, gives batches that are smaller where that saves padding.
"""

from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Lengths = NDArray[np.int32] | NDArray[np.int64]
Numbers = NDArray[np.int64]

_STRIP_FACTOR: Final = (0.2, 0.4)
"""Batches in a strip, over the square root of all batches: measured, padding is the same all over this range.

Drawn anew for each epoch, as is where the first strip ends: else the same pairs of a small corpus would always meet.
"""
_BATCH_COST: Final = 25
"""A batch costs as much as 1/25 of its budget in positions: what a step takes besides its tokens."""
_SMALL: Final = 4
"""A batch filled to less than 1/4 costs twice that, since it gives a noisy gradient."""
_PIECES: Final = 8
"""Rows of equal lengths are cut at every eighth of a batch at most, which bounds the work."""


@dataclass(frozen=True)
class DataPosition:
    """Where training goes on: `batch` batches of `epoch` (both from 0) have been seen."""

    epoch: int = 0
    batch: int = 0

    def state_dict(self) -> dict[str, int]:
        """Return the position as JSON values; `DataPosition(**state)` is the way back."""
        return asdict(self)


def epoch_generator(seed: int, epoch: int) -> np.random.Generator:
    """Return the generator that orders epoch `epoch` of a run seeded with `seed`, the same on every machine."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, epoch])))


def plan_batches(
    source_lengths: Lengths,
    target_lengths: Lengths,
    *,
    tokens_per_batch: int,
    max_sentences: int | None,
    generator: np.random.Generator,
) -> list[Numbers]:
    """Return batches of pair numbers, each pair once, in random order.

    Args:
        source_lengths: (N,) tokens of each source sentence, special token counted.
        target_lengths: (N,) the same of each target sentence.
        tokens_per_batch: rows times the longest row of either side never exceeds this; no pair is longer.
        max_sentences: rows at most, if given.
        generator: decides which of like pairs go together, and the order of the batches.
    """
    source, target = source_lengths.astype(np.int64), target_lengths.astype(np.int64)
    if not len(source):
        return []
    longer = np.maximum(source, target)
    assert int(longer.min()) >= 1
    assert int(longer.max()) <= tokens_per_batch
    order = _snake_order(source, target, tokens_per_batch, generator)
    batches = _cut(order, source[order], target[order], tokens_per_batch, max_sentences)
    return [batches[number] for number in generator.permutation(len(batches))]


def _snake_order(source: Numbers, target: Numbers, budget: int, generator: np.random.Generator) -> Numbers:
    """Return all pair numbers, ordered so that neighbours are alike on both sides; ties fall at random."""
    longer, difference = np.maximum(source, target), source - target
    width = int(np.abs(difference).max()) + 1
    order = generator.permutation(len(source))
    # Stable sorts of whole-number keys: the result is the same on every platform.
    order = order[np.argsort((longer * (2 * width) + difference + width)[order], kind="stable")]
    positions = np.cumsum(longer[order])
    strip_size = 1 + int(generator.uniform(*_STRIP_FACTOR) * float(positions[-1] / budget) ** 0.5 * budget)
    strip = np.empty(len(order), np.int64)
    strip[order] = (positions + int(generator.integers(strip_size))) // strip_size
    there_and_back = np.where(strip % 2 == 0, difference, -difference) + width
    key = (strip * (2 * width) + there_and_back) * (int(longer.max()) + 1) + longer
    return order[np.argsort(key[order], kind="stable")]


def _cut(order: Numbers, source: Numbers, target: Numbers, budget: int, max_sentences: int | None) -> list[Numbers]:
    """Cut `order`, whose lengths are `source` and `target`, into the batches that cost least."""
    bounds = _cutting_points(source, target, budget, max_sentences)
    pieces = len(bounds) - 1
    source, target = source[bounds[:-1]], target[bounds[:-1]]
    rows_at_most = budget // np.maximum(source, target)
    if max_sentences is not None:
        rows_at_most = np.minimum(rows_at_most, max_sentences)
    furthest = np.searchsorted(bounds, bounds[:-1] + rows_at_most, side="right") - 1
    batch_cost = max(1, budget // _BATCH_COST)
    impossible = np.iinfo(np.int64).max // 2
    cheapest = np.full(pieces + 1, impossible, np.int64)  # cost of the best cut of everything up to each point
    cheapest[0] = 0
    previous = np.zeros(pieces + 1, np.int64)
    for first in range(pieces):
        last = int(furthest[first])
        rows = bounds[first + 1 : last + 1] - bounds[first]
        longest_source = np.maximum.accumulate(source[first:last])
        longest_target = np.maximum.accumulate(target[first:last])
        filled = rows * np.maximum(longest_source, longest_target)
        cost = cheapest[first] + rows * (longest_source + longest_target)
        cost += np.where(filled * _SMALL < budget, 2 * batch_cost, batch_cost)
        better = (filled <= budget) & (cost < cheapest[first + 1 : last + 1])
        cheapest[first + 1 : last + 1][better] = cost[better]
        previous[first + 1 : last + 1][better] = first
    batches = []
    end = pieces
    while end:
        start = int(previous[end])
        batches.append(order[bounds[start] : bounds[end]])
        end = start
    return batches


def _cutting_points(source: Numbers, target: Numbers, budget: int, max_sentences: int | None) -> Numbers:
    """Return the rows where a batch may begin: where the lengths change, and often enough in long runs of equals."""
    count = len(source)
    begins = np.ones(count, bool)
    begins[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
    runs = np.flatnonzero(begins)
    place_in_run = np.arange(count) - np.repeat(runs, np.diff(np.append(runs, count)))
    rows = budget // np.maximum(source, target)
    if max_sentences is not None:
        rows = np.minimum(rows, max_sentences)
    begins |= place_in_run % np.maximum(rows // _PIECES, 1) == 0
    return np.append(np.flatnonzero(begins), count)
