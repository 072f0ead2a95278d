"""The feeding benchmark in small."""

import re
from pathlib import Path

from bench.feeding import Consumption, Work, bench_waiting

WORK = Work(
    pairs=3_000, vocabulary=400, rows=4, row_length=128, tokens_per_second=20_000, batches=30, before_boundary=10
)


def test_a_steady_model_reads_over_the_end_of_an_epoch(tmp_path: Path) -> None:
    report = "\n".join(bench_waiting(tmp_path, WORK))
    found = re.search(r"waits (\d+\.\d+)% of the time, over 30 batches and (\d) ends of epochs", report)
    assert found is not None, report
    assert float(found[1]) < 100
    assert int(found[2]) == 1


def test_waiting_is_a_share_of_all_time() -> None:
    assert Consumption(target_tokens=50, seconds=2.0, waits=[0.25, 0.25], epochs=0).waiting_share == 0.25
