"""Training that is killed, as a real process, and started again ends in the bits of a run that was left in peace."""

from pathlib import Path

import pytest

from bench.torture import in_short, play


def test_killed_inside_a_save_it_resumes_in_the_same_bits(tmp_path: Path) -> None:
    for seed in range(3):  # a quick run may end before its blow
        work = play("short", tmp_path / f"short-{seed}", seed=seed, kills=1, scenario=in_short)
        assert work.failures == []
        if sum(work.where.values()):
            return
    pytest.fail("no blow fell in three runs")
