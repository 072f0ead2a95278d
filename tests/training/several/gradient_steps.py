"""Steps of unlike batches for the small model, and their shares."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from translator.data import Batch, collate
from translator.data.pair_store import Ids
from translator.data.shares import Rows, share_step
from translator.special_tokens import EOS, SOS
from translator.training.loss import label_smoothed_loss

ACCUMULATIONS = (1, 2, 3, 4)
"""Of the steps; the first one has a single pair, so that all ranks but one have nothing to do."""


@dataclass(frozen=True)
class Share:
    """What the members need of `StepBatches`."""

    batches: list[Batch]
    target_tokens: int


@dataclass(frozen=True)
class MadeUp:
    """Pairs of random ids."""

    sides: list[tuple[Ids, Ids]]

    @property
    def source_lengths(self) -> NDArray[np.int32]:
        return np.array([len(source) + 1 for source, _ in self.sides], np.int32)

    @property
    def target_lengths(self) -> NDArray[np.int32]:
        return np.array([len(target) + 1 for _, target in self.sides], np.int32)

    def __getitem__(self, number: int) -> tuple[Ids, Ids]:
        return self.sides[number]


def made_up_step(accumulation: int) -> list[Rows]:
    """Return `accumulation` batches of unlike size and length."""
    generator = np.random.default_rng(accumulation)
    sizes = [1] if accumulation == 1 else [1 + 3 * (number % 4) + number for number in range(accumulation)]
    sides = [
        tuple(generator.integers(4, 21, int(length)).astype(np.int32) for length in generator.integers(0, 12, 2))
        for _ in range(sum(sizes))
    ]
    pairs = MadeUp([(source, target) for source, target in sides])
    return [Rows(pairs, numbers) for numbers in np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])]


def collated(rows: Rows) -> Batch:
    sources, targets = zip(*(rows.pairs[int(number)] for number in rows.numbers), strict=True)
    return collate(sources, targets, rows.numbers)


def share_of(accumulation: int, rank: int, world: int) -> Share:
    step = made_up_step(accumulation)
    share = share_step(step, world)[rank]
    return Share([collated(rows) for rows in share], sum(rows.target_tokens for rows in step))


def add_gradient(model: nn.Module, batch: Batch, target_tokens: int) -> None:
    logits = model(batch.source, batch.target_input)
    (label_smoothed_loss(logits, batch.labels, 0.1).smoothed / target_tokens).backward()  # type: ignore[no-untyped-call]


def tiny_pass(model: nn.Module) -> Tensor:
    logits: Tensor = model(torch.tensor([[EOS]]), torch.tensor([[SOS]]))
    return logits
