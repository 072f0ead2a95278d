"""The mixture of an epoch: how many pairs it takes from each source, and which.

An epoch takes pairs from each source in proportion to weight × pairs ^ (1 / temperature): temperature sampling (Devlin
et al. 2019, multilingual BERT; Arivazhagan et al. 2019 §4.2 for translation). With temperature 1, every pair of weight
1 has the same probability; a higher temperature evens the sources out. Pairs are drawn without replacement.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from translator.core.batch import Numbers


@dataclass(frozen=True)
class MixtureRow:
    """The share of one source in an epoch."""

    name: str
    pairs: int  # training pairs, without over-long ones
    weight: float
    share: float  # planned share of an epoch, between 0 and 1
    drawn: int  # pairs drawn in an epoch; if more than `pairs`, some occur twice or more


def mixture_rows(pairs: Mapping[str, int], weights: Mapping[str, float], temperature: float) -> list[MixtureRow]:
    """Return the share of each source; an epoch has about as many draws as there are pairs.

    A source with pairs gets at least one draw. At least one source must have pairs.

    Args:
        pairs: usable training pairs of each source, by name.
        weights: the weight of each source, by name.
        temperature: 1 or more.
    """
    # The shares are in proportion to these masses. Weights are divided by the largest weight of a source with pairs,
    # since tiny weights could make all masses zero.
    heaviest_weight = max(weights[name] for name, count in pairs.items() if count)
    masses = np.array([weights[name] / heaviest_weight * pairs[name] ** (1 / temperature) for name in pairs])
    shares = masses / masses.sum()

    # Each source gets its share of the draws.
    total = sum(pairs.values())
    rows = []
    for name, share in zip(pairs, shares.tolist(), strict=True):
        row = MixtureRow(
            name=name,
            pairs=pairs[name],
            weight=weights[name],
            share=share,
            drawn=max(1, round(share * total)) if pairs[name] else 0,
        )
        rows.append(row)
    return rows


class Draws(NamedTuple):
    """Pairs that an epoch draws."""

    epoch: int  # from 0
    pairs: Numbers  # (N,) numbers in the split
    repetitions: NDArray[np.int32]  # (N,) how often the epoch has drawn each pair before
    changes: NDArray[np.bool_]  # (N, kinds) which kinds of changes each text gets; see `data/augmentation.py`

    def at(self, places: Numbers) -> "Draws":
        """Return those at `places`."""
        return Draws(self.epoch, self.pairs[places], self.repetitions[places], self.changes[places])


def epoch_draws(usable: Sequence[Numbers], draw_counts: Sequence[int], seed: int, epoch: int) -> Draws:
    """Return the pairs of one epoch in ascending order, without changes; a pair drawn twice occurs twice.

    The draws depend only on seed and epoch. Over any number of epochs, two pairs of a source differ by at most one in
    the number of their draws.

    Args:
        usable: the numbers of the usable pairs of each source, in ascending order.
        draw_counts: how many pairs of each source an epoch takes.
        seed: `run.seed`.
        epoch: number of the epoch, from 0.
    """
    # 1. The draws of all sources.
    parts = [np.zeros(0, np.int64)]  # numpy cannot concatenate an empty list
    for source, (numbers, count) in enumerate(zip(usable, draw_counts, strict=True)):
        if count > 0:
            parts += _source_draws(numbers, count, seed, source, epoch)
    pairs = np.sort(np.concatenate(parts))

    # 2. The draws of a pair now stand side by side: the distance from the first of them counts the draws before.
    places = np.arange(len(pairs))
    first_places = np.searchsorted(pairs, pairs)
    repetitions = (places - first_places).astype(np.int32)
    no_changes = np.zeros((len(pairs), 0), np.bool_)
    return Draws(epoch=epoch, pairs=pairs, repetitions=repetitions, changes=no_changes)


def _source_draws(numbers: Numbers, count: int, seed: int, source: int, epoch: int) -> Iterator[Numbers]:
    """Yield the draws of one source in one epoch, in parts.

    All draws of a source, over all epochs, are one endless sequence: shuffle 0 of its pairs, then shuffle 1, and so on.
    Each epoch takes the next `count` draws of this sequence. An epoch may begin or end inside a shuffle.
    """
    start = epoch * count
    end = start + count
    first_shuffle = start // len(numbers)
    last_shuffle = (end - 1) // len(numbers)
    for shuffle in range(first_shuffle, last_shuffle + 1):
        # The part of this shuffle that lies between `start` and `end`.
        shuffle_start = shuffle * len(numbers)
        part_start = max(start - shuffle_start, 0)
        part_end = min(end - shuffle_start, len(numbers))
        if part_end - part_start == len(numbers):
            yield numbers  # all of them, so their order has no effect
            continue
        seeds = np.random.SeedSequence(seed, spawn_key=(source, shuffle))
        generator = np.random.Generator(np.random.PCG64(seeds))
        yield generator.permutation(numbers)[part_start:part_end]


def epoch_generator(seed: int, epoch: int) -> np.random.Generator:
    """Return the random generator of epoch `epoch` of a run with `seed`, the same on every machine."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, epoch])))
