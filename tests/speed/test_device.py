"""Choice of the device and of bf16."""

import pytest
import torch

from translator.errors import ConfigError
from translator.speed.device import bf16_pays, choose_device, has_bf16, is_out_of_memory

CPU = torch.device("cpu")


def pretend(monkeypatch: pytest.MonkeyPatch, gpus: int = 0, apple: bool = False) -> None:
    """Let torch find so many NVIDIA GPUs, and that of an Apple machine."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: apple)
    monkeypatch.setattr(torch.backends.mps, "is_macos_or_newer", lambda *version: apple)


@pytest.mark.parametrize(
    ("name", "apple", "device"), [("auto", False, "cpu"), ("auto", True, "mps"), ("mps", True, "mps")]
)
def test_auto_takes_the_gpu_of_the_machine_or_else_the_cpu(
    name: str, apple: bool, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, apple=apple)
    assert choose_device(name) == torch.device(device)


@pytest.mark.parametrize(
    ("name", "gpus", "message"),
    [
        ("mps", 0, r"run\.device is `mps`, but torch finds no Apple GPU here"),
        ("cuda:2", 2, r"run\.device is `cuda:2`, but there are only 2 GPUs"),
        *((name, 0, "the device is `auto`, .* or `cuda:N`, not") for name in ("cuda:x", "mps:1", "")),
    ],
)
def test_an_unavailable_or_unknown_device_is_refused_with_a_reason(
    name: str, gpus: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, gpus)
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
    assert (has_bf16(CPU), bf16_pays(CPU)) == (supported, faster)


def test_bf16_of_an_apple_gpu_is_supported_but_not_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, apple=True)
    assert has_bf16(torch.device("mps"))
    assert not bf16_pays(torch.device("mps"))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError(), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 72 bytes"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED"), False),
        (OSError("MPS backend out of memory"), False),
    ],
)
def test_exhausted_memory_is_told_from_other_errors(error: Exception, expected: bool) -> None:
    assert is_out_of_memory(error) == expected
