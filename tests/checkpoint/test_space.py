"""Too little room is told before anything is written."""

import shutil
from collections import namedtuple
from pathlib import Path

import pytest
import torch
from checkpoint.small_checkpoints import save

from translator.checkpoint import check_space, steps_saved
from translator.errors import StorageError

Usage = namedtuple("Usage", ["total", "used", "free"])


def disk_with(monkeypatch: pytest.MonkeyPatch, free: int, total: int = 10**9) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(total, total - free, free))


def test_a_checkpoint_that_has_no_room_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, 1)
    before = sorted(path.name for path in tmp_path.iterdir())
    disk_with(monkeypatch, 20_000)
    told = r"cannot write .*step-000002: the disk is too full; the checkpoint needs 0\.\d\d MB and 0\.02 MB are free"
    with pytest.raises(StorageError, match=told) as caught:
        save(tmp_path, 2)
    assert "free some space there" in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_the_need_is_what_a_checkpoint_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than a little above the true size, and never below it."""
    average = {"weight": torch.zeros(1000, 1000)}
    save(tmp_path, 1, average=average)
    size = sum(file.stat().st_size for file in (tmp_path / "step-000001").iterdir())
    disk_with(monkeypatch, size)
    with pytest.raises(StorageError):
        save(tmp_path, 2, average=average)
    disk_with(monkeypatch, size + 200_000)
    save(tmp_path, 2, average=average)
    assert steps_saved(tmp_path) == [1, 2]


def test_a_disk_without_a_limit_has_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk_with(monkeypatch, 0, total=0)
    check_space(tmp_path / "new" / "step-000001", [torch.zeros(10)])
