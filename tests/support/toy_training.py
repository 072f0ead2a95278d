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
from translator.core.packing import plan_rows
from translator.core.transformer import Transformer
from translator.core.update import Gradients, Learner

Task = Callable[[list[int]], list[int]]


TASKS: dict[str, Task] = {"copy": list, "reverse": lambda ids: ids[::-1], "sort": sorted}

LETTERS = range(EOS + 1, EOS + 9)
VOCABULARY = LETTERS.stop
ROW_LENGTH = 16
ROWS = 24


class Position(NamedTuple):
    """Where a batch begins: at a row of an epoch."""

    epoch: int
    row: int


START = Position(epoch=0, row=0)


def toy_pairs(task: Task, count: int) -> list[Pair]:
    """Pairs of two to six letters and what `task` makes of them; no two sources are equal."""
    generator = np.random.default_rng(1)
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


def toy_steps(pairs: list[Pair], position: Position = START, rows: int = ROWS) -> Iterator[StepBatches]:
    """Yield batches of `rows` packed rows, epoch after epoch, from `position` on; a batch never spans two epochs."""
    lengths = np.array([(len(source) + 1, len(target) + 1) for source, target in pairs])
    first_row = position.row
    for epoch in itertools.count(position.epoch):
        plan = plan_rows(lengths[:, 0], lengths[:, 1], ROW_LENGTH, np.random.default_rng([1, epoch]))
        for begin in range(first_row, len(plan) - rows + 1, rows):
            packed = [plan.pairs_of(row, row + 1) for row in range(begin, begin + rows)]
            batch = collate_rows([[pairs[number] for number in numbers] for numbers in packed], ROW_LENGTH)
            yield step_of([batch], Position(epoch, begin + rows))
        first_row = 0


def toy_learner(
    schedule: ScheduleSettings,
    label_smoothing: float = 0.0,
    r_drop: float = 0.0,
    **changes: Any,
) -> Learner:
    """A learner for the toy tasks, always with the same random weights; `changes` are to its network."""
    torch.manual_seed(2)
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
    return Learner(loss, ModelOptimizer(model, OptimizerSettings()), Gradients(model.parameters()), schedule)
