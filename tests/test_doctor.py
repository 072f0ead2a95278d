"""`translator doctor` on machines that lack something."""

import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from tests.support.gpu_stand_ins import CUDA_13, use_torch
from translator import doctor
from translator.cli import main
from translator.doctor import examine_place


def test_doctor_passes_on_this_machine_and_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "Training works on this machine" in out
    for name in ("Python", "torch", "CPU", "runs/"):
        assert name in out
    assert list(tmp_path.iterdir()) == [], "a check leaves nothing behind"


@pytest.mark.parametrize(("free", "verdict"), [(1 << 20, "wrong"), (1 << 40, "ok")])
def test_folder_check_reports_low_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, verdict: str
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    assert examine_place("runs/", tmp_path / "runs").verdict == verdict


def test_folder_check_reports_a_disk_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "symlink_to", Mock(side_effect=OSError))
    assert examine_place("runs/", tmp_path).verdict == "wrong"


def test_gpus_are_listed_with_their_precision_or_why_torch_cannot_use_them(monkeypatch: pytest.MonkeyPatch) -> None:
    use_torch(monkeypatch, ["T4", "V100"], "13.0", CUDA_13)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: Mock(total_memory=15 << 30))
    findings = {finding.name: finding for finding in doctor.examine_devices()}
    usable, unusable = findings["GPU 0"], findings["GPU 1"]
    assert (usable.verdict, usable.found) == ("ok", "Tesla T4, 15 GiB; training computes in fp16")
    assert unusable.verdict == "note"
    assert "no code for GPU 1 (Tesla V100, compute capability 7.0)" in unusable.found
    assert "docs/training.md" in unusable.found
