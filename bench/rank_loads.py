"""How evenly the processes ("ranks") of a run are loaded, and what padding costs: real lengths, the real planner."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.data.batching import epoch_generator, plan_batches
from translator.data.shares import Rows, share_step

Lengths = NDArray[np.int32]


@dataclass(frozen=True)
class LengthPairs:
    """Pairs of which nothing but the lengths is known."""

    source_lengths: Lengths
    target_lengths: Lengths

    def __len__(self) -> int:
        return len(self.source_lengths)

    def __getitem__(self, number: int) -> tuple[Lengths, Lengths]:
        raise NotImplementedError(f"pair {number} has lengths alone")

    def resampled(self, count: int, seed: int) -> "LengthPairs":
        """Return `count` pairs drawn from these with replacement, both lengths of a pair together."""
        drawn = np.random.default_rng(seed).integers(len(self), size=count)
        return LengthPairs(self.source_lengths[drawn], self.target_lengths[drawn])


@dataclass(frozen=True)
class Sizes:
    """Sizes of a model; the default is Transformer-base (Vaswani et al. 2017, table 3) with 32,000 pieces a side."""

    d_model: int = 512
    feed_forward: int = 2048
    encoder_layers: int = 6
    decoder_layers: int = 6
    vocabulary: int = 32_000

    def operations(self, rows: int, source: int, target: int) -> float:
        """Return the floating-point operations of one training step on a batch, padding computed like tokens.

        A matrix product of m × k by k × n is 2mkn. Per position and layer: 8D² for the four projections of
        self-attention, 4DF for the feed-forward network, 4LD for scores and weighted sums over L keys (the quadratic
        part; the causal half is computed too). Cross-attention: 4D² per target position, 4D² per source position, and
        4SD. The output: 2DV per target position. Backward is twice forward.

        Args:
            rows: B.
            source: S, positions of a source row.
            target: T, positions of a target row.
        """
        d, f = self.d_model, self.feed_forward
        encoder = source * (8 * d * d + 4 * d * f + 4 * source * d)
        decoder = target * (12 * d * d + 4 * d * f + 4 * (target + source) * d) + source * 4 * d * d
        return (
            3.0
            * rows
            * (self.encoder_layers * encoder + self.decoder_layers * decoder + 2 * target * d * self.vocabulary)
        )


@dataclass(frozen=True)
class Load:
    """What one way of sharing comes to, over all steps that were looked at."""

    waiting: float
    """Share of all ranks' time that is spent waiting for the slowest of the step."""
    bad_step: float
    """The same share in the worst step of twenty."""
    padding: float
    """Share of all positions, both sides together."""
    pieces: float
    """Batches, or pieces of one, that a rank computes in a step, on average."""


SHARINGS: Final = ("as built", "in turn", "own streams", "greedy")
"""Ways to share a step: as the trainer does it; whole batches in turn, as many as go round, and each of the others cut
by rows into one piece a rank; each rank the next batches of a plan of its own part of the corpus; and whole batches,
the costliest first, each to the rank with the least so far."""


def plan(pairs: LengthPairs, tokens_per_batch: int, seed: int = 1) -> list[Rows]:
    """Return the batches of one epoch in the order of training."""
    batches = plan_batches(
        pairs.source_lengths,
        pairs.target_lengths,
        tokens_per_batch=tokens_per_batch,
        max_sentences=None,
        generator=epoch_generator(seed, 0),
    )
    return [Rows(pairs, numbers) for numbers in batches]


def own_streams(pairs: LengthPairs, tokens_per_batch: int, world: int) -> list[Rows]:
    """Return batches of which every `world`-th, from the r-th on, is of rank r: each plans a part of its own."""
    order = np.random.default_rng(1).permutation(len(pairs))
    parts = [np.sort(order[rank::world]) for rank in range(world)]
    plans = [
        plan(LengthPairs(pairs.source_lengths[part], pairs.target_lengths[part]), tokens_per_batch, seed)
        for seed, part in enumerate(parts)
    ]
    return [rows for together in zip(*plans, strict=False) for rows in together]


def loads(batches: Sequence[Rows], world: int, accumulation: int, sharing: str, sizes: Sizes, most_steps: int) -> Load:
    """Return how evenly `world` ranks are loaded when each step has `accumulation` of the batches.

    Args:
        batches: of an epoch, from `plan`, or from `own_streams` for that sharing.
        world: ranks.
        accumulation: batches a step.
        sharing: one of `SHARINGS`.
        sizes: of the model, for the cost.
        most_steps: steps to look at.
    """
    steps = [batches[at : at + accumulation] for at in range(0, len(batches) - accumulation + 1, accumulation)]
    mean, slowest, positions, tokens, pieces = [], [], 0, 0, []
    for step in steps[:most_steps]:
        shares = shares_of(step, world, sharing, sizes)
        costs = [sum(_cost(rows, sizes) for rows in share) for share in shares]
        mean.append(sum(costs) / world)
        slowest.append(max(costs))
        positions += sum(rows.positions for share in shares for rows in share)
        pieces.append(sum(map(len, shares)) / world)
        tokens += sum(rows.source_tokens + rows.target_tokens for rows in step)
    waits = 1 - np.array(mean) / np.array(slowest)
    return Load(
        1 - sum(mean) / sum(slowest), float(np.quantile(waits, 0.95)), 1 - tokens / positions, sum(pieces) / len(pieces)
    )


def shares_of(step: Sequence[Rows], world: int, sharing: str, sizes: Sizes) -> list[list[Rows]]:
    """Return what each rank computes of a step; `sharing` is one of `SHARINGS`."""
    if sharing == "as built":
        return share_step(step, world)
    if sharing == "own streams":
        return [list(step[rank::world]) for rank in range(world)]
    if sharing == "in turn":
        return _in_turn(step, world)
    assert sharing == "greedy"
    shares: list[list[Rows]] = [[] for _ in range(world)]
    costs = [0.0] * world
    for rows in sorted(step, key=lambda one: _cost(one, sizes), reverse=True):
        rank = costs.index(min(costs))
        shares[rank].append(rows)
        costs[rank] += _cost(rows, sizes)
    return shares


def _in_turn(step: Sequence[Rows], world: int) -> list[list[Rows]]:
    """Return the shares of batches that go round whole, and of those left over, each cut as a step of its own."""
    whole = len(step) // world * world
    shares = [list(step[rank:whole:world]) for rank in range(world)]
    for rows in step[whole:]:
        for share, piece in zip(shares, share_step([rows], world), strict=True):
            share += piece
    return shares


def _cost(rows: Rows, sizes: Sizes) -> float:
    source, target = rows.pairs.source_lengths[rows.numbers], rows.pairs.target_lengths[rows.numbers]
    return sizes.operations(len(rows.numbers), int(source.max()), int(target.max()))
