"""Stand-ins for machines with NVIDIA GPUs: torch's answers, and the files of the driver."""

from pathlib import Path

import pytest
import torch

from translator.run import nvidia_driver

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


def use_system(
    monkeypatch: pytest.MonkeyPatch, root: Path, driver: str | None, *, access: bool = True, card: bool = True
) -> None:
    """Let `root` hold the files of a machine with this driver, access to it from this process, and a card.

    Driver `Windows` makes a Linux inside Windows, which shows no card on its bus.
    """
    monkeypatch.setattr(nvidia_driver, "SYSTEM", root)
    files: dict[str, str] = {}
    if driver == "Windows":
        files = {"dev/dxg": "", "usr/lib/wsl/lib/libcuda.so.1": ""}
    elif driver is not None:
        module = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64"
        files["proc/driver/nvidia/version"] = f"{module}  {driver}  Release Build\nGCC version:  gcc 12.2.0\n"
        files["proc/driver/nvidia/gpus/0000:01:00.0/information"] = "Model: \t\t Tesla V100\nIRQ:   \t\t 11\n"
        if access:
            files["dev/nvidiactl"] = ""
    if card and driver != "Windows":
        files["sys/bus/pci/devices/0000:01:00.0/vendor"] = "0x10de\n"
        files["sys/bus/pci/devices/0000:01:00.0/class"] = "0x030200\n"
    files["sys/bus/pci/devices/0000:02:00.0/vendor"] = "0x8086\n"
    files["sys/bus/pci/devices/0000:02:00.0/class"] = "0x030000\n"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
