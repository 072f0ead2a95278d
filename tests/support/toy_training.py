"""Toy tasks on token ids, endless batches of their pairs, and a learner: all of a training, by the core alone."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from tests.support.small_model import Pair
from translator.core import EOS
from translator.core.batch import Batch, StepBatches, collate_rows
from translator.core.layers import NetworkSettings
from translator.core.loss import TeacherForcing
from translator.core.optimizer import ModelOptimizer, OptimizerSettings, ScheduleSettings
from translator.core.packing import RowPlan, plan_rows
from translator.core.transformer import Transformer
from translator.core.update import Gradients, Learner

Task = Callable[[list[int]], list[int]]


def copied(ids: list[int]) -> list[int]:
    return ids


def backwards(ids: list[int]) -> list[int]:
    return ids[::-1]


TASKS: dict[str, Task] = {"copy": copied, "reverse": backwards, "sort": sorted}

LETTERS = range(EOS + 1, EOS + 9)
VOCABULARY = LETTERS.stop
ROW_LENGTH = 16
ROWS = 24


class Position(NamedTuple):
    """Where a batch begins: at a row of an epoch."""

    epoch: int
    row: int


START = Position(epoch=0, row=0)


def toy_pairs(task: Task, count: int, seed: int = 1) -> list[Pair]:
    """Pairs of two to six letters and what `task` makes of them; no two sources are equal."""
    generator = np.random.default_rng(seed)
    sources: dict[tuple[int, ...], None] = {}
    while len(sources) < count:
        letters = generator.choice(LETTERS, generator.integers(2, 7))
        sources[tuple(letters.tolist())] = None
    return [(list(source), task(list(source))) for source in sources]


def step_of(batches: Sequence[Batch], position: Position = START) -> StepBatches:
    """The micro-batches of one update on one rank."""
    return StepBatches(
        batches=tuple(batches),
        target_tokens=sum(batch.target_tokens for batch in batches),
        next_position=position,
    )


def pairs_in(plan: RowPlan, row: int, pairs: list[Pair]) -> list[Pair]:
    return [pairs[number] for number in plan.pairs_of(row, row + 1)]


def toy_steps(pairs: list[Pair], position: Position = START, rows: int = ROWS) -> Iterator[StepBatches]:
    """Yield batches of `rows` packed rows, epoch after epoch, from `position` on; a batch never spans two epochs."""
    lengths = np.array([(len(source) + 1, len(target) + 1) for source, target in pairs])
    first_row = position.row
    for epoch in itertools.count(position.epoch):
        plan = plan_rows(lengths[:, 0], lengths[:, 1], ROW_LENGTH, np.random.default_rng([1, epoch]))
        for begin in range(first_row, len(plan) - rows + 1, rows):
            batch = collate_rows([pairs_in(plan, row, pairs) for row in range(begin, begin + rows)], ROW_LENGTH)
            yield step_of([batch], Position(epoch, begin + rows))
        first_row = 0


def toy_learner(
    schedule: ScheduleSettings,
    optimizer: OptimizerSettings | None = None,
    label_smoothing: float = 0.0,
    r_drop: float = 0.0,
    **changes: Any,
) -> Learner:
    """A learner for the toy tasks, always with the same random weights; `changes` are to its network."""
    torch.manual_seed(1)
    network: dict[str, Any] = {
        "d_model": 64,
        "heads": 4,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "feed_forward": 128,
        "max_positions": 32,
    }
    model = Transformer(NetworkSettings(**(network | changes)), VOCABULARY, VOCABULARY)
    loss = TeacherForcing(model, label_smoothing, r_drop)
    moments = ModelOptimizer(model, optimizer or OptimizerSettings())
    return Learner(loss, moments, Gradients(model.parameters()), schedule)
