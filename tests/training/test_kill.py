"""A training process that is killed and started again ends with the same bits as an undisturbed one."""

from pathlib import Path

import pytest

from bench.torture import in_short, play


def test_a_run_killed_during_a_save_resumes_to_identical_weights(tmp_path: Path) -> None:
    for seed in range(3):  # a quick run may end before it is killed
        work = play("short", tmp_path / f"short-{seed}", seed=seed, kills=1, scenario=in_short)
        assert work.failures == []
        if sum(work.where.values()):
            return
    pytest.fail("no blow fell in three runs")
