"""How much of each source an epoch shows: weights and temperature decide, a rotation keeps every pair in its turn.

A source is drawn in proportion to weight × pairs ^ (1 / temperature): temperature sampling, which Devlin brought to
multilingual BERT (as 0.7 in place of 1 / temperature) and Arivazhagan et al. 2019 (§4.2) to translation. Temperature 1
leaves every pair of weight 1 the same chance; a higher one evens the sources out.

Nothing is drawn at random with replacement, though: the draws of a source run through one shuffle of its pairs after
another, and each epoch takes the next stretch of them. So after any number of epochs no pair has been shown more than
once oftener than another of its source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from translator.data.batching import Numbers
from translator.text_table import text_table


@dataclass(frozen=True)
class MixtureRow:
    """What one source gives to an epoch."""

    name: str
    """Of the source."""
    pairs: int
    """Training pairs, the over-long ones not counted."""
    weight: float
    """As the configuration sets it."""
    share: float
    """Part of an epoch that it should make up, between 0 and 1."""
    drawn: int
    """Pairs that an epoch takes; more than `pairs` shows some of them twice or oftener."""


def mixture_rows(pairs: Mapping[str, int], weights: Mapping[str, float], temperature: float) -> list[MixtureRow]:
    """Return the row of each source; together they draw as many pairs as there are, and each with pairs at least one.

    Args:
        pairs: usable training pairs of each source, by name; at least one in all.
        weights: of each source, by name.
        temperature: 1 or more.
    """
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
    whole = np.floor(exact + 1e-9)  # what is a whole number but for rounding stays that number
    # Rounded, so that the last bit of a power, which may differ between machines, decides nothing.
    by_remainder = np.argsort(-np.round(exact - whole, 9), kind="stable")
    whole[by_remainder[: int(pairs.sum()) - int(whole.sum())]] += 1
    counts: Numbers = whole.astype(np.int64)
    for missing in np.flatnonzero((counts == 0) & (pairs > 0)):
        counts[np.argmax(counts)] -= 1
        counts[missing] = 1
    return counts


def epoch_draws(usable: Sequence[Numbers], drawn: Sequence[int], seed: int, epoch: int) -> Numbers:
    """Return the pair numbers of one epoch in rising order; a pair that is drawn twice stands there twice.

    Draw k of a source with n usable pairs is place k mod n of the (k // n)-th shuffle of them, and epoch e takes the
    draws from e × `drawn` on: a function of seed and epoch alone.

    Args:
        usable: the numbers of the usable pairs of each source.
        drawn: how many of them an epoch takes.
    """
    parts = []
    for source, (numbers, count) in enumerate(zip(usable, drawn, strict=True)):
        if not count:
            continue
        first_pass, first = divmod(epoch * count, len(numbers))
        last_pass, last = divmod((epoch + 1) * count, len(numbers))
        if first_pass == last_pass:
            parts.append(_shuffled(numbers, seed, source, first_pass)[first:last])
            continue
        # Only where an epoch cuts through a pass does the order in it matter.
        parts.append(_shuffled(numbers, seed, source, first_pass)[first:] if first else numbers)
        parts += [numbers] * (last_pass - first_pass - 1)
        if last:
            parts.append(_shuffled(numbers, seed, source, last_pass)[:last])
    return np.sort(np.concatenate(parts))


def _shuffled(numbers: Numbers, seed: int, source: int, number_of_pass: int) -> Numbers:
    """Return `numbers` in the order of one pass, the same on every machine."""
    seeds = np.random.SeedSequence(seed, spawn_key=(source, number_of_pass))
    return np.random.Generator(np.random.PCG64(seeds)).permutation(numbers)


def format_mixture(rows: Sequence[MixtureRow]) -> str:
    """Return the rows as a table for a person."""
    header = ("source", "usable pairs", "weight", "share of an epoch", "drawn in an epoch", "each pair")
    cells = [
        (
            row.name,
            f"{row.pairs:,}",
            f"{row.weight:g}",
            f"{row.share:.2%}",
            f"{row.drawn:,}",
            f"{row.drawn / row.pairs:.2f} times" if row.pairs else "-",
        )
        for row in rows
    ]
    return text_table(header, cells)
