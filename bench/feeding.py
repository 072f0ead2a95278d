"""Feeding: does the data of a GPU arrive in time?

It is measured on a CPU, with a stand-in for the model that consumes a million target tokens a second.
"""

import contextlib
import tempfile
import time
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from bench.generated import GeneratedData, random_lengths, write_tokens
from bench.options import Options
from translator.data import DataPosition, StepBatches
from translator.run.files import write_json
from translator.run.workers import available_cores

Steps = Generator[StepBatches, None, None]


@dataclass(frozen=True)
class Work:
    """The data and the duration of the measurements."""

    pairs: int = 1_000_000  # of an epoch
    vocabulary: int = 8_000
    rows: int = 256  # of a batch
    row_length: int = 128
    tokens_per_second: float = 1e6  # target tokens that the stand-in for the model consumes
    batches: int = 500  # consumed in all
    before_boundary: int = 300  # batches consumed of the first epoch


@dataclass(frozen=True)
class Consumption:
    """How a model at a steady speed got its batches."""

    batches: int
    target_tokens: int
    seconds: float  # in all
    waits: list[float]  # seconds of waiting for each batch
    epochs: int  # that ended

    @property
    def waiting_share(self) -> float:
        """The share of all time in which the model waited for data."""
        return sum(self.waits) / self.seconds


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on feeding, and write all figures to feeding.json."""
    work = Work()
    yield (
        f"feeding, batches of {work.rows} rows of {work.row_length} positions, epochs of {work.pairs:,} pairs, "
        f"{available_cores()} cores, torch {torch.__version__}"
    )
    with tempfile.TemporaryDirectory() as folder:
        write_tokens(Path(folder), work.pairs, work.vocabulary, work.row_length)
        data = GeneratedData(Path(folder), work.pairs, rows=work.rows, row_length=work.row_length)
        results: dict[str, object] = {"work": asdict(work)}
        yield from bench_waiting(data, work, results)
    write_json(options.output / "feeding.json", results)
    yield f"  written: {options.output}/feeding.json"


# --- does the data arrive in time? ---


def bench_waiting(data: GeneratedData, work: Work, results: dict[str, object]) -> Iterator[str]:
    """Yield the share of time that a model of the given speed waits for data, and the speed of the data alone."""
    with contextlib.closing(feed(data, position_before_boundary(work))) as steps:
        next(steps)  # the start of the other processes, and the plan of the first epoch
        steady = consume(steps, work.batches, work.tokens_per_second)
    yield (
        f"  a model of {work.tokens_per_second:,.0f} target tokens a second waits {steady.waiting_share:.2%} of the "
        f"time, over {steady.batches} batches and {steady.epochs} end of an epoch; the longest wait is "
        f"{1000 * max(steady.waits):.1f} ms"
    )
    with contextlib.closing(feed(data, DataPosition())) as steps:
        next(steps)
        unlimited = consume(steps, work.batches // 3, tokens_per_second=float("inf"))
    speed = unlimited.target_tokens / unlimited.seconds
    yield f"  the other processes make at most {speed:,.0f} target tokens a second, while it plans the next epoch"
    results["steady"] = asdict(steady)
    results["unlimited"] = asdict(unlimited)


def feed(data: GeneratedData, position: DataPosition) -> Steps:
    """Return the batches as a training on a GPU gets them, from other processes."""
    return data.training_batches.steps(position, accumulation=1, on_gpu=True)


def position_before_boundary(work: Work) -> DataPosition:
    """Return the position in the first epoch that is `work.before_boundary` batches before its end."""
    source_lengths, target_lengths = random_lengths(work.pairs, work.row_length - 1)
    # The plan has at least as many rows as the tokens of the fuller side fill.
    tokens = work.pairs + max(int(source_lengths.sum()), int(target_lengths.sum()))
    rows = tokens // work.row_length
    return DataPosition(epoch=0, row=max(0, rows - work.rows * work.before_boundary))


def consume(steps: Steps, count: int, tokens_per_second: float) -> Consumption:
    """Take `count` batches, and work on each for as long as a model of `tokens_per_second` would."""
    waits = []
    target_tokens = 0
    epochs = set()
    began = time.perf_counter()
    for _ in range(count):
        before = time.perf_counter()
        step = next(steps)
        waits.append(time.perf_counter() - before)
        target_tokens += step.target_tokens
        epochs.add(step.next_position.epoch)
        time.sleep(step.target_tokens / tokens_per_second)
    return Consumption(
        batches=count,
        target_tokens=target_tokens,
        seconds=time.perf_counter() - began,
        waits=waits,
        epochs=len(epochs) - 1,
    )
