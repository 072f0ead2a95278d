"""Ranks as real processes, for tests of several files."""

from collections.abc import Callable
from pathlib import Path

import pytest
from torch.distributed.elastic.multiprocessing.subprocess_handler import subprocess_handler

from tests.support.rank_verbs import Copy
from translator.run.signals import StopRequest
from translator.training.launching import launch

StartMembers = Callable[[Path, int, str], int]


@pytest.fixture
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a process that no launcher started."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def start_members(plain_environment: None, monkeypatch: pytest.MonkeyPatch) -> StartMembers:
    """Launch processes that run a verb of rank_verbs.py in a folder."""
    monkeypatch.setattr(subprocess_handler, "Popen", Copy)

    def start(folder: Path, processes: int, verb: str) -> int:
        return launch([verb, str(folder)], processes, StopRequest(), threads=1)

    return start
