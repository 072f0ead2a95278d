"""`translator doctor` on this machine, and on machines that lack something."""

import builtins
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from tests.support.gpu_stand_ins import CUDA_13, use_torch
from translator.cli import main
from translator.doctor import examine_devices, examine_place


def test_doctor_passes_on_this_machine_and_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor"]) == 0
    table = capsys.readouterr().out
    for words in ("Python", "torch", "CPU", "runs/", "Training works on this machine"):
        assert words in table
    assert list(tmp_path.iterdir()) == [], "a check leaves nothing behind"


def test_a_machine_with_a_full_disk_cannot_train(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = shutil.disk_usage(".")._replace(free=1 << 20)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    assert main(["doctor"]) == 2
    assert "training is impossible on this machine: runs/, data/" in capsys.readouterr().err


def test_folder_check_reports_a_disk_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "symlink_to", Mock(side_effect=OSError))
    verdict, *_ = examine_place("runs/", tmp_path)
    assert verdict == "wrong"


def test_gpus_have_their_precision_or_what_keeps_torch_from_using_them(monkeypatch: pytest.MonkeyPatch) -> None:
    use_torch(monkeypatch, ["T4", "V100"], "13.0", CUDA_13)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: Mock(total_memory=15 << 30))
    findings = {name: (verdict, text) for verdict, name, text in examine_devices()}
    assert findings["GPU 0"] == ("ok", "Tesla T4, 15 GiB; training computes in fp16")
    verdict, problem = findings["GPU 1"]
    assert verdict == "note"
    assert "no code for GPU 1 (Tesla V100, compute capability 7.0)" in problem
    assert "docs/training.md" in problem


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ImportError("no symbol\nin libcudart.so.13"), "no symbol"),
        (OSError("libcudart.so.13: cannot open"), "libcudart.so.13: cannot open"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_a_torch_that_cannot_be_loaded_is_a_finding(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = builtins.__import__

    def load(name: str, *arguments: Any) -> Any:
        if name == "torch":
            raise error
        return original(name, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", load)
        (finding,) = examine_devices()
    assert finding == ("wrong", "torch", f"cannot be loaded: {reason}")
