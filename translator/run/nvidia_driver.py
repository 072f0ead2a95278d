"""What Linux says of NVIDIA GPUs and their driver, without torch, which is slow to start."""

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

from translator.run.logging import warn_once
from translator.run.memory import read_system_file

SYSTEM: Final = Path("/")  # where Linux has the folders `proc`, `dev`, `sys` and `usr`
_NVIDIA_VENDOR: Final = "0x10de"
_DISPLAY_CLASS: Final = "0x03"  # PCI class of graphics and compute cards
_DRIVER_OF_WINDOWS: Final = "usr/lib/wsl/lib/libcuda.so.1"  # which WSL shows to Linux
_VISIBLE_DEVICE: Final = re.compile(r"\d|GPU-|MIG-")  # start of a GPU's number or UUID


class GpuProblem(NamedTuple):
    """Why a GPU cannot compute, and what the user can do; each a clause without a full stop."""

    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.remedy}"


def gpus_are_hidden() -> bool:
    """Return whether CUDA_VISIBLE_DEVICES hides all GPUs.

    CUDA ignores all entries from the first invalid one on (NVIDIA, *CUDA C++ Programming Guide*, "CUDA Environment
    Variables"): users write an empty setting or -1, and old versions of Slurm write NoDevFiles.
    """
    return _VISIBLE_DEVICE.match(os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip()) is None


def driver_problem() -> GpuProblem | None:
    """Return why this process finds no working driver for NVIDIA GPUs of this machine.

    None if it finds one, if there is no such GPU, or if CUDA_VISIBLE_DEVICES hides all GPUs.
    """
    if gpus_are_hidden():
        return None
    if driver_version() is None:
        if not _has_nvidia_card():
            return None
        return GpuProblem(
            reason="this machine has an NVIDIA GPU, but its driver is not loaded",
            remedy="install NVIDIA's driver 580 or newer; the command nvidia-smi shows whether it works",
        )
    if not (SYSTEM / "dev/nvidiactl").exists() and not _is_driver_of_windows():
        return GpuProblem(
            reason=f"this process has no access to {card_names()}, since it finds no /dev/nvidiactl",
            remedy="start the container with its GPUs, such as docker run --gpus all",
        )
    return None


def driver_version() -> str | None:
    """Return the version of the loaded NVIDIA driver, such as `535.183.01`, or `of …`; None if none is loaded."""
    text = read_system_file(SYSTEM / "proc/driver/nvidia/version")
    version = re.search(r"\b\d{3,}(\.\d+)+", text)
    if version is not None:
        return version[0]
    if text:
        return "of unknown version"
    return "of Windows" if _is_driver_of_windows() else None


def card_names() -> str:
    """Return the names of the GPUs that the loaded driver lists, or `the NVIDIA GPU` if it names none."""
    names: dict[str, None] = {}
    for folder in sorted((SYSTEM / "proc/driver/nvidia/gpus").glob("*")):
        for line in read_system_file(folder / "information").splitlines():
            key, _, value = line.partition(":")
            if key == "Model":
                names[value.strip()] = None
    return ", ".join(names) or "the NVIDIA GPU"


def warn_without_driver() -> None:
    """Warn, once per process, if this process finds no working driver for NVIDIA GPUs of this machine."""
    problem = driver_problem()
    if problem is not None:
        warn_of_unused_gpu(problem)


def warn_of_unused_gpu(problem: GpuProblem) -> None:
    """Warn, once per process, that the CPU computes because of this problem."""
    warn_once(f"the CPU computes, not the GPU: {problem}; with run.device=cpu this warning stays away")


def _is_driver_of_windows() -> bool:
    """Return whether Linux runs inside Windows (WSL), which has an NVIDIA driver."""
    return (SYSTEM / "dev/dxg").exists() and (SYSTEM / _DRIVER_OF_WINDOWS).exists()


def _has_nvidia_card() -> bool:
    """Return whether an NVIDIA graphics or compute card is on the PCI bus."""
    for device in (SYSTEM / "sys/bus/pci/devices").glob("*"):
        vendor = read_system_file(device / "vendor").strip()
        if vendor == _NVIDIA_VENDOR and read_system_file(device / "class").startswith(_DISPLAY_CLASS):
            return True
    return False
