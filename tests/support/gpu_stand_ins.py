"""Stand-ins for machines with NVIDIA GPUs: torch's answers, and the file of the driver."""

from pathlib import Path

import pytest
import torch

from translator.speed import gpu_support

CUDA_13 = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
CUDA_12_6 = ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"]
CAPABILITIES = {"P100": (6, 0), "V100": (7, 0), "T4": (7, 5), "A100": (8, 0), "H100": (9, 0), "K80": (3, 7)}


def use_torch(monkeypatch: pytest.MonkeyPatch, cards: list[str], cuda: str | None, architectures: list[str]) -> None:
    """Let torch be built for `cuda` with code for `architectures`, and see these `cards`."""

    def capability(device: torch.device | int) -> tuple[int, int]:
        number = device if isinstance(device, int) else device.index or 0
        return CAPABILITIES[cards[number]]

    version = f"2.13.0+cu{cuda.replace('.', '')}" if cuda else "2.13.0+cpu"
    monkeypatch.setattr(torch, "__version__", version)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: len(cards) > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(cards))
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: architectures)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda number: f"Tesla {cards[number]}")
    monkeypatch.setattr(torch.cuda, "get_device_capability", capability)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "")  # so that no test changes it


def use_driver(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let this machine have NVIDIA's driver; its file is in `folder`."""
    monkeypatch.setattr(gpu_support, "_DRIVER", folder / "version")
    (folder / "version").touch()
