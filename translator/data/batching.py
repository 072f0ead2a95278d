"""The pairs of an epoch and their division into batches: seeded, resumable, shared by processes.

An epoch takes pairs from each source in proportion to weight × pairs ^ (1 / temperature): temperature sampling (Devlin
et al. 2019, multilingual BERT; Arivazhagan et al. 2019 §4.2 for translation). With temperature 1, every pair of weight
1 has the same probability; a higher temperature evens the sources out. Pairs are drawn without replacement.

Rows of different lengths cause padding, so a batch is a small rectangle in the plane of both lengths. Pairs are sorted
by their longer side into strips of a few batches each. Inside a strip they are sorted by the difference of the sides,
in alternating direction (snake order). Dynamic programming cuts this sequence into batches with the fewest positions,
with a small fixed cost per batch. A large corpus gives full batches with little padding; a small one, whose lengths
differ more, gives smaller batches where that saves padding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.data.token_store import PairStore

Lengths = NDArray[np.int32] | NDArray[np.int64]
Numbers = NDArray[np.int64]

_STRIP_FACTOR: Final = (0.2, 0.4)
"""Batches per strip, divided by the square root of their total number; measured padding is constant over this range.

Each epoch draws a value from it, and the end of the first strip. Otherwise a small corpus would repeat its batches.
"""
_BATCH_COST: Final = 25  # fixed cost of a batch: 1/25 of its budget in positions, for the overhead of a step
_SMALL: Final = 4  # a batch filled to less than 1/4 costs twice that, since its gradient is noisy
_TARGET_WEIGHT: Final = 2  # cost of a target token in source tokens, for cross-attention and the output head
_PIECES: Final = 8  # possible cuts per batch among rows of equal lengths; bounds the work


@dataclass(frozen=True)
class DataPosition:
    """The position of the next batch: after `batch` batches of `epoch` (both from 0)."""

    epoch: int = 0
    batch: int = 0

    def state_dict(self) -> dict[str, int]:
        """Return the position as JSON values; `DataPosition(**state)` restores it."""
        return asdict(self)


@dataclass(frozen=True)
class MixtureRow:
    """The share of one source in an epoch."""

    name: str
    pairs: int  # training pairs, without over-long ones
    weight: float
    share: float  # planned share of an epoch, between 0 and 1
    drawn: int  # pairs drawn in an epoch; if more than `pairs`, some occur twice or more


def mixture_rows(pairs: Mapping[str, int], weights: Mapping[str, float], temperature: float) -> list[MixtureRow]:
    """Return a row per source from usable `pairs` and weights by name; a source with pairs draws at least one."""
    heaviest = max(weights[name] for name, count in pairs.items() if count)  # a divisor that prevents underflow
    mass = np.array([weights[name] / heaviest * count ** (1 / temperature) for name, count in pairs.items()])
    shares = mass / mass.sum()
    drawn = _whole_numbers(shares, np.array(list(pairs.values())))
    return [
        MixtureRow(name, count, weights[name], float(share), int(take))
        for (name, count), share, take in zip(pairs.items(), shares, drawn, strict=True)
    ]


def _whole_numbers(shares: NDArray[np.float64], pairs: Numbers) -> Numbers:
    """Return how many of all `pairs` each share gets, by largest remainders; at least 1 for a source with pairs."""
    exact = shares * float(pairs.sum())
    whole = np.floor(exact + 1e-9)  # 1e-9 corrects whole numbers slightly lowered by rounding
    # Rounded, because the last bit of a power may differ between machines.
    by_remainder = np.argsort(-np.round(exact - whole, 9), kind="stable")
    whole[by_remainder[: int(pairs.sum()) - int(whole.sum())]] += 1
    counts: Numbers = whole.astype(np.int64)
    for missing in np.flatnonzero((counts == 0) & (pairs > 0)):
        counts[np.argmax(counts)] -= 1
        counts[missing] = 1
    return counts


def epoch_draws(usable: Sequence[Numbers], drawn: Sequence[int], seed: int, epoch: int) -> Numbers:
    """Return the pair numbers of one epoch in ascending order; a pair drawn twice occurs twice.

    `usable` holds the numbers of the usable pairs of each source; an epoch takes `drawn` of them. A source's draws are
    consecutive shuffles of its pairs, and epoch e takes draws e × `drawn` to (e + 1) × `drawn`. They depend only on
    seed and epoch. After any number of epochs, the counts of a source's pairs differ by at most one.
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
    """Return the random generator of epoch `epoch` of a run with `seed`, the same on every machine."""
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
        source_lengths: (N,) tokens of each source sentence, special token included.
        target_lengths: (N,) tokens of each target sentence, special token included.
        tokens_per_batch: maximum of rows times the longest row, on either side; no pair is longer.
        max_sentences: maximum number of rows, if given.
        generator: decides ties between pairs of similar lengths, and the order of the batches.
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
    """Return all pair numbers, ordered so that neighbours have similar lengths on both sides; ties in random order."""
    longer, difference = np.maximum(source, target), source - target
    width = int(np.abs(difference).max()) + 1
    order = generator.permutation(len(source))
    # Stable sorts of integer keys: the result is the same on every platform.
    order = order[np.argsort((longer * (2 * width) + difference + width)[order], kind="stable")]
    positions = np.cumsum(longer[order])
    strip_size = 1 + int(generator.uniform(*_STRIP_FACTOR) * float(positions[-1] / budget) ** 0.5 * budget)
    strip = np.empty(len(order), np.int64)
    strip[order] = (positions + int(generator.integers(strip_size))) // strip_size
    there_and_back = np.where(strip % 2 == 0, difference, -difference) + width
    key = (strip * (2 * width) + there_and_back) * (int(longer.max()) + 1) + longer
    return order[np.argsort(key[order], kind="stable")]


def _cut(order: Numbers, source: Numbers, target: Numbers, budget: int, max_sentences: int | None) -> list[Numbers]:
    """Return `order`, with lengths `source` and `target`, cut into batches at the lowest total cost."""
    bounds = _cutting_points(source, target, budget, max_sentences)
    pieces = len(bounds) - 1
    source, target = source[bounds[:-1]], target[bounds[:-1]]
    rows_at_most = budget // np.maximum(source, target)
    if max_sentences is not None:
        rows_at_most = np.minimum(rows_at_most, max_sentences)
    furthest = np.searchsorted(bounds, bounds[:-1] + rows_at_most, side="right") - 1
    batch_cost = max(1, budget // _BATCH_COST)
    impossible = np.iinfo(np.int64).max // 2
    cheapest = np.full(pieces + 1, impossible, np.int64)  # cost of the best cut up to each point
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
    """Return the rows where a batch may begin: changes of length, and regular points in long runs of equal lengths."""
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
    """The rows of a batch, before their ids are read."""

    pairs: PairStore
    numbers: Numbers  # (B,) rows of `pairs`; at least one
    drawn: Numbers | None = None  # the pair number of each row of `pairs`, if a row is a draw and not a pair

    @property
    def of_pairs(self) -> Numbers:
        """The pair number of each row."""
        return self.numbers if self.drawn is None else self.drawn[self.numbers]

    @property
    def source_tokens(self) -> int:
        """Tokens of the source side, EOS included."""
        return int(self.pairs.source_lengths[self.numbers].sum())

    @property
    def target_tokens(self) -> int:
        """Tokens of the target side, EOS included."""
        return int(self.pairs.target_lengths[self.numbers].sum())

    @property
    def positions(self) -> int:
        """Positions of both sides after collation, padding included."""
        longest = self.pairs.source_lengths[self.numbers].max() + self.pairs.target_lengths[self.numbers].max()
        return len(self.numbers) * int(longest)


def share_step(batches: Sequence[Rows], world: int) -> list[list[Rows]]:
    """Return the rows of a step for each of `world` processes: together the rows of `batches`, each once.

    A process gets consecutive rows, at most one part of each batch. Neighbours have similar lengths, so the parts of a
    batch have no more padding than the batch. With few rows, or a very long one, some processes get none.
    """
    costs = [
        batch.pairs.source_lengths[batch.numbers].astype(np.int64)
        + _TARGET_WEIGHT * batch.pairs.target_lengths[batch.numbers].astype(np.int64)
        for batch in batches
    ]
    line = np.concatenate(costs)
    middles = 2 * np.cumsum(line) - line  # doubled to stay integer: every machine cuts at the same row
    owners = middles * world // (2 * int(line.sum()))
    shares: list[list[Rows]] = [[] for _ in range(world)]
    ends = np.cumsum([len(one) for one in costs])
    for batch, owner in zip(batches, np.split(owners, ends[:-1]), strict=True):
        cuts = np.flatnonzero(np.diff(owner)) + 1
        pieces = (
            [replace(batch, numbers=numbers) for numbers in np.split(batch.numbers, cuts)] if len(cuts) else [batch]
        )
        for piece, rank in zip(pieces, owner[[0, *cuts]], strict=True):
            shares[rank].append(piece)
    return shares
