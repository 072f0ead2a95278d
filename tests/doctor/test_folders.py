"""Places to write to, with and without what a run asks of them."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from translator.doctor.folders import examine_folders, examine_place


def test_a_good_place_is_left_as_it_was(tmp_path: Path) -> None:
    finding = examine_place("runs/", tmp_path / "runs")
    assert (finding.verdict, finding.advice) == ("ok", "")
    assert f"to be made in {tmp_path}" in finding.found
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc/self/status").exists(), reason="root may write anywhere")
def test_a_place_that_cannot_be_written_is_wrong() -> None:
    finding = examine_place("runs/", Path("/proc/self"))
    assert finding.verdict == "wrong"
    assert finding.advice.startswith("cannot write /proc/self: ")


@pytest.mark.parametrize(("free", "verdict"), [(1 << 20, "wrong"), (1 << 30, "note"), (1 << 40, "ok")])
def test_room(free: int, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    assert examine_place("runs/", tmp_path).verdict == verdict


def _refuse(*arguments: object) -> NoReturn:
    raise OSError("not supported")


def test_a_file_system_without_links_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "symlink_to", _refuse)
    finding = examine_place("runs/", tmp_path)
    assert (finding.verdict, "symbolic link" in finding.advice) == ("wrong", True)


def test_a_file_system_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcntl.flock", _refuse)
    finding = examine_place("runs/", tmp_path)
    assert (finding.verdict, "no locks" in finding.advice) == ("note", True)


def test_every_place_of_a_run_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file in the way", encoding="utf-8")
    verdicts = {finding.name: finding.verdict for finding in examine_folders(tmp_path)}
    assert list(verdicts) == ["this folder", "runs/", "data/", "temporary files"]
    assert verdicts["runs/"] == "wrong"
    assert verdicts["data/"] == "ok"
