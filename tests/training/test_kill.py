"""Training that is killed, as a real process, and started again ends in the bits of a run that was left in peace."""

from pathlib import Path

from bench.torture import in_short, play

KILLS = 3
"""At random instants: of the whole life of a process, of training, and of a save."""


def test_killed_in_an_operation_on_files_and_at_random_instants(tmp_path: Path) -> None:
    work = play("short", tmp_path / "short", seed=1, kills=KILLS, scenario=in_short)
    assert work.failures == []
    assert work.where["checkpoint write"] >= 1
    assert sum(work.where.values()) >= 3  # a process that was quick may have ended before its blow
