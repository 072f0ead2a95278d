"""The feeding benchmark in small."""

import time
from collections.abc import Generator
from typing import Any

import pytest

from bench.feeding import Work, bench_waiting, consume
from bench.generated import GeneratedData, write_tokens
from translator.data import DataPosition, StepBatches

WORK = Work(
    pairs=400,
    vocabulary=100,
    rows=4,
    row_length=64,
    tokens_per_second=20_000,
    batches=30,
    before_boundary=10,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> GeneratedData:
    folder = tmp_path_factory.mktemp("tokens")
    write_tokens(folder, WORK.pairs, WORK.vocabulary, WORK.row_length)
    return GeneratedData(folder, WORK.pairs, rows=WORK.rows, row_length=WORK.row_length)


def test_a_steady_model_reads_over_the_end_of_an_epoch(data: GeneratedData) -> None:
    results: dict[str, Any] = {}
    report = "\n".join(bench_waiting(data, WORK, results))
    assert "a model of 20,000 target tokens a second waits" in report
    assert results["steady"]["batches"] == 30
    assert results["steady"]["epochs"] >= 1


def slow_steps() -> Generator[StepBatches, None, None]:
    while True:
        time.sleep(0.02)
        yield StepBatches(batches=(), target_tokens=10, next_position=DataPosition())


def test_time_without_data_is_counted_as_waiting() -> None:
    consumption = consume(slow_steps(), count=5, tokens_per_second=1e6)
    assert consumption.target_tokens == 50
    # Each batch takes at least this long, on a busy machine longer.
    assert sum(consumption.waits) >= 5 * 0.02
    assert 0.0 < consumption.waiting_share < 1.0
