"""What can compute here, with rates that are not measured anew in a test."""

from pathlib import Path

import pytest
import torch

from translator.doctor import devices
from translator.doctor.devices import examine_devices
from translator.doctor.finding import Finding


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch) -> dict[str, Finding]:
    """Two usable cores, four threads, no OMP_NUM_THREADS, no GPU."""
    monkeypatch.setattr(devices, "matrix_rate", lambda *arguments: 123e9)
    monkeypatch.setattr(devices, "available_cores", lambda: 2)
    monkeypatch.setattr(devices, "cpu_limit", lambda: None)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return {}


def look() -> dict[str, Finding]:
    return {finding.name: finding for finding in examine_devices()}


def test_more_threads_than_cores_are_told(examined: None) -> None:
    assert look()["threads"].advice.endswith("train with --set run.threads=2")


def test_a_share_of_a_core_is_one_thread(examined: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cpu_limit", lambda: 0.5)
    assert look()["threads"].advice.endswith("train with --set run.threads=1")


def test_a_variable_that_holds_threads_back_is_told(examined: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert look()["threads"].verdict == "ok"
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert "unset OMP_NUM_THREADS" in look()["threads"].advice


@pytest.mark.parametrize(
    ("has", "right", "pays", "found"),
    [
        (False, True, True, "none"),
        (True, False, True, "come out wrong"),
        (True, True, True, "training computes in it"),
        (True, True, False, "training computes in float32"),
    ],
)
def test_bf16(has: bool, right: bool, pays: bool, found: str, examined: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "has_bf16", lambda device: has)
    monkeypatch.setattr(devices, "bf16_pays", lambda device: pays)
    monkeypatch.setattr(devices, "bf16_is_right", lambda device: right)
    seen = look()
    assert found in seen["CPU bf16"].found
    assert ("in bf16" in seen["matrix products"].found) == has
    assert "123 GFLOP/s in float32" in seen["matrix products"].found


def test_a_gpu_is_told_with_its_memory(examined: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda number: "Some GPU")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda number: (9, 0))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (70 << 30, 80 << 30))
    monkeypatch.setattr(devices, "has_bf16", lambda device: device.type == "cuda")
    monkeypatch.setattr(devices, "bf16_pays", lambda device: True)
    monkeypatch.setattr(devices, "bf16_is_right", lambda device: True)
    seen = look()
    assert seen["GPU 0"].found == "Some GPU, 80 GiB (70 free), compute capability 9.0"
    assert "training computes in it" in seen["GPU 0 bf16"].found


def test_a_gpu_that_cannot_be_used_is_told(examined: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(device: torch.device) -> tuple[int, int]:
        raise RuntimeError("CUDA error: out of memory\nmore")

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda number: "Some GPU")
    monkeypatch.setattr(torch.cuda, "mem_get_info", refuse)
    assert "it cannot be used (CUDA error: out of memory)" in look()["GPU 0"].advice


def test_a_driver_without_a_torch_for_it_is_told(examined: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_DRIVER", Path("/"))
    assert look()["GPU"].verdict == "note"
    monkeypatch.setattr(devices, "_DRIVER", Path("/none/of/this"))
    assert look()["GPU"].verdict == "ok"
