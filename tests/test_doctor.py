"""`translator doctor` on machines that lack something."""

import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from translator import doctor
from translator.cli import main
from translator.doctor import examine_memory, examine_place, examine_threads
from translator.run.memory import memory_limit

GIB = 1 << 30


def test_doctor_passes_on_this_machine_and_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "Training works on this machine" in out
    assert all(name in out for name in ("Python", "torch", "memory", "CPU", "fastapi", "runs/"))
    assert list(tmp_path.iterdir()) == [], "a check leaves nothing behind"


def test_missing_package_fails_doctor_and_shows_the_pip_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = doctor.version_of
    versions = {"sacrebleu": None, "fastapi": None, "numpy": "1.0"}
    monkeypatch.setattr(doctor, "version_of", lambda name: versions[name] if name in versions else there(name))
    assert main(["doctor"]) == 2
    captured = capsys.readouterr()
    assert "sacrebleu: needed" in captured.out
    assert "pip install 'sacrebleu" in captured.out
    assert "numpy: needed" in captured.out
    assert "fastapi: needed for serve" in captured.out
    assert "sacrebleu" in captured.err


@pytest.mark.parametrize(("free", "limit", "verdict"), [(8, "max", "ok"), (1, "max", "note"), (8, GIB, "note")])
def test_memory_check_respects_container_limits(free: int, limit: str | int, verdict: str, tmp_path: Path) -> None:
    assert memory_limit(tmp_path) is doctor.cpu_limit(tmp_path) is None
    (tmp_path / "memory.max").write_text(f"{limit}\n", encoding="ascii")
    (tmp_path / "cpu.max").write_text("150000 100000\n", encoding="ascii")
    assert doctor.cpu_limit(tmp_path) == 1.5
    table = tmp_path / "meminfo"
    table.write_text(f"MemTotal: {16 << 20} kB\nMemFree: 1 kB\nMemAvailable: {free << 20} kB\n", encoding="ascii")
    assert examine_memory(table, memory_limit(tmp_path)).verdict == verdict


@pytest.mark.parametrize(
    ("threads", "limit", "advice"), [(4, None, "run.threads=2"), (2, 0.5, "run.threads=1"), (2, None, "")]
)
def test_too_many_threads_warn(threads: int, limit: float | None, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    finding = examine_threads(threads, 2, limit)
    assert advice in finding.advice and (finding.verdict == "ok") == (advice == "")


@pytest.mark.parametrize(("free", "verdict"), [(1 << 20, "wrong"), (1 << 40, "ok")])
def test_folder_check_reports_low_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, verdict: str
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    assert examine_place("runs/", tmp_path / "runs").verdict == verdict


def test_folder_check_reports_a_disk_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcntl.flock", Mock(side_effect=OSError))
    assert "no locks" in examine_place("runs/", tmp_path).advice


def test_folder_check_reports_a_disk_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "symlink_to", Mock(side_effect=OSError))
    assert examine_place("runs/", tmp_path).verdict == "wrong"


def test_gpus_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("has_bf16", "bf16_pays"):
        monkeypatch.setattr(f"translator.model.device.{name}", lambda device: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda number: "Some GPU")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (70 << 30, 80 << 30))
    findings = {finding.name: finding for finding in doctor.examine_devices()}
    assert findings["GPU 0"].found == "Some GPU, 80 GiB (70 free); training computes in bf16"
    assert findings["CPU"].found.endswith("training computes in bf16")
    monkeypatch.setattr(torch.cuda, "mem_get_info", Mock(side_effect=RuntimeError("CUDA error: out of memory\nmore")))
    findings = {finding.name: finding for finding in doctor.examine_devices()}
    assert "out of memory" in findings["GPU 0"].advice
