"""Choice of the device and of bf16."""

import pytest
import torch

from translator.errors import ConfigError
from translator.speed.device import (
    bf16_pays,
    choose_device,
    has_bf16,
    is_out_of_memory,
)

CPU = torch.device("cpu")


def pretend(monkeypatch: pytest.MonkeyPatch, gpus: int, bf16: bool = True) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: bf16)


def test_auto_takes_the_cpu_of_a_machine_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, gpus=0)
    assert choose_device("auto") == CPU


@pytest.mark.parametrize("name", ["auto", "mps"])
def test_the_gpu_of_an_apple_machine_is_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, gpus=0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device(name) == torch.device("mps")


def test_bf16_of_an_apple_gpu_is_supported_but_not_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_macos_or_newer", lambda *version: True)
    assert has_bf16(torch.device("mps"))
    assert not bf16_pays(torch.device("mps"))


@pytest.mark.parametrize(
    ("name", "gpus", "message"),
    [
        ("cuda", 0, r"torch finds no CUDA GPU here; use run\.device=cpu or auto"),
        ("mps", 0, r"run\.device is `mps`, but torch finds no Apple GPU here"),
        ("cuda:2", 2, r"run\.device is `cuda:2`, but there are only 2 GPUs"),
    ],
)
def test_unavailable_gpu_is_rejected_with_a_reason(
    name: str, gpus: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, gpus=gpus)
    with pytest.raises(ConfigError, match=message):
        choose_device(name)


@pytest.mark.parametrize(
    ("capabilities", "vendor", "supported", "faster"),
    [
        ({"avx512_bf16": True, "amx_bf16": True}, "GenuineIntel", True, True),
        ({"avx512_bf16": True}, "GenuineIntel", True, False),
        ({"avx512_bf16": True}, "AuthenticAMD", True, True),
        ({"bf16": True}, "", True, True),  # ARM's
        ({"avx2": True}, "AuthenticAMD", False, False),
    ],
)
def test_bf16_support_and_speedup_are_detected_from_cpu_features(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], vendor: str, supported: bool, faster: bool
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    monkeypatch.setattr("translator.speed.device._cpu_facts", lambda: f"vendor_id : {vendor}")
    assert has_bf16(CPU) is supported
    assert bf16_pays(CPU) is faster


@pytest.mark.parametrize("name", ["tpu", "cuda:x", "cuda:-1", "CPU", "mps:1", "", "cpu:5", "meta"])
def test_invalid_device_names_are_rejected(name: str) -> None:
    with pytest.raises(ConfigError, match="the device is `auto`, `cpu`, `mps`, `cuda` or `cuda:N`, not"):
        choose_device(name)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError(), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 9.05 GB)"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 72 bytes"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED"), False),
        (OSError("MPS backend out of memory"), False),
        (None, False),
    ],
)
def test_exhausted_memory_is_told_from_other_errors(error: Exception | None, expected: bool) -> None:
    assert is_out_of_memory(error) == expected
