"""Ranks as real processes, for tests of several files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from translator.run.signals import StopRequest
from translator.training.launching import launch

RANK_VERBS = Path(__file__).parents[1] / "support" / "rank_verbs.py"
StartMembers = Callable[[Path, int, str], int]


@pytest.fixture
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a process that no launcher started."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    paths = [str(RANK_VERBS.parents[2]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in paths if path))


@pytest.fixture
def start_members(plain_environment: None) -> StartMembers:
    """Launch processes that run a verb of rank_verbs.py in a folder."""

    def start(folder: Path, processes: int, verb: str) -> int:
        return launch([verb, str(folder)], processes, StopRequest(), threads=1, program=[str(RANK_VERBS)])

    return start
