"""Feeding: does the data of a GPU arrive in time?

It is measured on a CPU, with a stand-in for the model that consumes a million target tokens a second.
"""

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from bench.generated import generated_recipe, write_corpus
from bench.options import Options
from translator.config import parse_config
from translator.data import DataHandler, DataPosition, StepBatches
from translator.run.workers import available_cores


@dataclass(frozen=True)
class Work:
    """The data and the duration of the measurements."""

    pairs: int = 250_000  # of an epoch
    vocabulary: int = 8_000
    rows: int = 256  # of a batch
    row_length: int = 128
    tokens_per_second: float = 1e6  # target tokens that the stand-in for the model consumes
    batches: int = 300  # consumed in all
    before_boundary: int = 100  # batches consumed of the first epoch


@dataclass(frozen=True)
class Consumption:
    """How a model at a steady speed got its batches."""

    target_tokens: int
    seconds: float  # in all
    waits: list[float]  # seconds of waiting for each batch
    epochs: int  # that ended

    @property
    def waiting_share(self) -> float:
        """The share of all time in which the model waited for data."""
        return sum(self.waits) / self.seconds


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on feeding."""
    work = Work()
    yield (
        f"feeding, batches of {work.rows} rows of {work.row_length} positions, epochs of {work.pairs:,} pairs, "
        f"{available_cores()} cores, torch {torch.__version__}"
    )
    with tempfile.TemporaryDirectory() as folder:
        yield from bench_waiting(Path(folder), work)


def bench_waiting(folder: Path, work: Work) -> Iterator[str]:
    """Yield the share of time that a model of the given speed waits for data, and the speed of the data alone."""
    # 1. The data, and the position from which an epoch has so many more batches.
    write_corpus(folder, work.pairs, work.vocabulary, work.row_length)
    recipe = generated_recipe(folder, work.vocabulary, work.rows, work.row_length)
    data = DataHandler(parse_config(json.dumps(recipe), "the generated recipe"))
    row_count = len(data.training_batches.plan(epoch=0).rows)
    position = DataPosition(epoch=0, row=max(0, row_count - work.rows * work.before_boundary))

    # 2. A steady model.
    steady = consume(data, position, work.batches, work.tokens_per_second)
    yield (
        f"  a model of {work.tokens_per_second:,.0f} target tokens a second waits {steady.waiting_share:.2%} of the "
        f"time, over {work.batches} batches and {steady.epochs} ends of epochs; the longest wait is "
        f"{1000 * max(steady.waits):.1f} ms"
    )

    # 3. A model without limit.
    unlimited = consume(data, DataPosition(), work.batches // 3, tokens_per_second=float("inf"))
    speed = unlimited.target_tokens / unlimited.seconds
    yield f"  the other processes make at most {speed:,.0f} target tokens a second, while one plans the next epoch"


def consume(data: DataHandler, position: DataPosition, count: int, tokens_per_second: float) -> Consumption:
    """Take `count` batches as a training on a GPU gets them, and work on each for as long as such a model would."""
    waits = []
    target_tokens = 0
    epochs = set()
    with contextlib.closing(data.training_batches.steps(position, accumulation=1, on_gpu=True)) as steps:
        next(steps)  # the start of the other processes, and the plan of the first epoch
        began = time.perf_counter()
        for _ in range(count):
            before = time.perf_counter()
            step: StepBatches = next(steps)
            waits.append(time.perf_counter() - before)
            target_tokens += step.target_tokens
            epochs.add(step.next_position.epoch)
            time.sleep(step.target_tokens / tokens_per_second)
        seconds = time.perf_counter() - began
    return Consumption(target_tokens=target_tokens, seconds=seconds, waits=waits, epochs=len(epochs) - 1)
