"""Which pairs an epoch shows, and which go together in a batch: seeded, resumable, shared by processes.

An epoch takes of each source a number of pairs in proportion to weight × pairs ^ (1 / temperature): temperature
sampling (Devlin et al. 2019, multilingual BERT; Arivazhagan et al. 2019 §4.2 for translation). Temperature 1 gives
every pair of weight 1 the same chance; a higher one evens the sources out. Pairs are drawn without replacement.

Padding comes from rows of unlike length, so a batch is a small rectangle in the plane of both lengths. Pairs are
ordered by their longer side into strips of a few batches each, and inside a strip by the difference of the sides, there
and back (snake order). That line of pairs is cut into batches by dynamic programming: the cut that takes the fewest
positions, where each batch has a small fixed cost. A large corpus gives full batches with hardly any padding; a small
one, whose pairs are too unlike, gives batches that are smaller where that saves padding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.data.token_store import PairStore

Lengths = NDArray[np.int32] | NDArray[np.int64]
Numbers = NDArray[np.int64]

_STRIP_FACTOR: Final = (0.2, 0.4)
"""Batches in a strip, over the square root of all batches: measured, padding is the same all over this range.

Drawn anew for each epoch, as is where the first strip ends: else the same pairs of a small corpus would always meet.
"""
_BATCH_COST: Final = 25  # a batch costs 1/25 of its budget in positions: what a step takes besides its tokens
_SMALL: Final = 4  # a batch filled to less than 1/4 costs twice that, since it gives a noisy gradient
_TARGET_WEIGHT: Final = 2  # cost of a target token in source tokens: cross-attention and the output come on top
_PIECES: Final = 8  # rows of equal lengths are cut at every eighth of a batch at most, which bounds the work


@dataclass(frozen=True)
class DataPosition:
    """The position of the next batch: `batch` batches of `epoch` (both from 0) have been seen."""

    epoch: int = 0
    batch: int = 0

    def state_dict(self) -> dict[str, int]:
        """Return the position as JSON values; `DataPosition(**state)` restores it."""
        return asdict(self)


@dataclass(frozen=True)
class MixtureRow:
    """What one source gives to an epoch."""

    name: str
    pairs: int  # training pairs, the over-long ones not counted
    weight: float
    share: float  # part of an epoch that it should make up, between 0 and 1
    drawn: int  # pairs that an epoch takes; if more than `pairs`, some are shown twice or more


def mixture_rows(pairs: Mapping[str, int], weights: Mapping[str, float], temperature: float) -> list[MixtureRow]:
    """Return the row of each source from its usable `pairs` and weight, by name; with pairs, it draws at least one."""
    heaviest = max(weights[name] for name, count in pairs.items() if count)  # divided by, so that nothing underflows
    mass = np.array([weights[name] / heaviest * count ** (1 / temperature) for name, count in pairs.items()])
    shares = mass / mass.sum()
    drawn = _whole_numbers(shares, np.array(list(pairs.values())))
    return [
        MixtureRow(name, count, weights[name], float(share), int(take))
        for (name, count), share, take in zip(pairs.items(), shares, drawn, strict=True)
    ]


def _whole_numbers(shares: NDArray[np.float64], pairs: Numbers) -> Numbers:
    """Divide the sum of `pairs` as `shares` say, by largest remainders, at least 1 for each that has pairs."""
    exact = shares * float(pairs.sum())
    whole = np.floor(exact + 1e-9)  # a whole number that rounding made a little smaller keeps its value
    # Rounded, because the last bit of a power may differ between machines.
    by_remainder = np.argsort(-np.round(exact - whole, 9), kind="stable")
    whole[by_remainder[: int(pairs.sum()) - int(whole.sum())]] += 1
    counts: Numbers = whole.astype(np.int64)
    for missing in np.flatnonzero((counts == 0) & (pairs > 0)):
        counts[np.argmax(counts)] -= 1
        counts[missing] = 1
    return counts


def epoch_draws(usable: Sequence[Numbers], drawn: Sequence[int], seed: int, epoch: int) -> Numbers:
    """Return the pair numbers of one epoch in rising order; a pair that is drawn twice stands there twice.

    `usable` holds the numbers of the usable pairs of each source; an epoch takes `drawn` of them. A source's draws run
    through one shuffle of its pairs after another, and epoch e takes draws e × `drawn` to (e + 1) × `drawn`: a function
    of seed and epoch alone. After any number of epochs its pairs have been shown equally often, give or take one.
    """
    parts = []
    for source, (numbers, count) in enumerate(zip(usable, drawn, strict=True)):
        start, end, size = epoch * count, (epoch + 1) * count, len(numbers)
        for shuffle in range(start // size, -(-end // size)) if count else ():
            seeds = np.random.SeedSequence(seed, spawn_key=(source, shuffle))
            shuffled = np.random.Generator(np.random.PCG64(seeds)).permutation(numbers)
            parts.append(shuffled[max(start - shuffle * size, 0) : end - shuffle * size])
    return np.sort(np.concatenate(parts))


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
    """Return all pair numbers, ordered so that neighbours are alike on both sides; ties are in random order."""
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


@dataclass(frozen=True)
class Rows:
    """Pairs to be collated together, not read yet."""

    pairs: PairStore
    numbers: Numbers  # (B,) which of them; at least one

    @property
    def source_tokens(self) -> int:
        """Tokens of the source side, EOS counted."""
        return int(self.pairs.source_lengths[self.numbers].sum())

    @property
    def target_tokens(self) -> int:
        """Tokens of the target side, EOS counted."""
        return int(self.pairs.target_lengths[self.numbers].sum())

    @property
    def positions(self) -> int:
        """Positions of both sides once they are collated, padding included."""
        longest = self.pairs.source_lengths[self.numbers].max() + self.pairs.target_lengths[self.numbers].max()
        return len(self.numbers) * int(longest)


def share_step(batches: Sequence[Rows], world: int) -> list[list[Rows]]:
    """Return what each of `world` processes computes of a step: together the rows of `batches`, each once.

    A process gets neighbouring rows, at most one piece of each batch. Neighbours are alike in length, so the pieces of
    a batch have no more padding than the batch. Where rows are few, or one is long, some processes get nothing.
    """
    costs = [
        batch.pairs.source_lengths[batch.numbers].astype(np.int64)
        + _TARGET_WEIGHT * batch.pairs.target_lengths[batch.numbers].astype(np.int64)
        for batch in batches
    ]
    line = np.concatenate(costs)
    middles = 2 * np.cumsum(line) - line  # doubled, to stay in whole numbers: every machine cuts at the same row
    owners = middles * world // (2 * int(line.sum()))
    shares: list[list[Rows]] = [[] for _ in range(world)]
    ends = np.cumsum([len(one) for one in costs])
    for batch, owner in zip(batches, np.split(owners, ends[:-1]), strict=True):
        cuts = np.flatnonzero(np.diff(owner)) + 1
        pieces = [Rows(batch.pairs, numbers) for numbers in np.split(batch.numbers, cuts)] if len(cuts) else [batch]
        for piece, rank in zip(pieces, owner[[0, *cuts]], strict=True):
            shares[rank].append(piece)
    return shares
