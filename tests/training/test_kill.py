"""Training that is killed, as a real process, and started again ends in the bits of a run that was left in peace."""

from pathlib import Path

from bench.torture import in_short, play

KILLS = 3


def test_killed_in_a_save_and_at_random_instants(tmp_path: Path) -> None:
    work = play("short", tmp_path / "short", seed=1, kills=KILLS, scenario=in_short)
    assert work.failures == []
    assert sum(work.where.values()) >= 2
