"""Whether torch can compute on the NVIDIA GPUs of this machine; if not, the reason, and what to install.

A build of torch has code for some compute capabilities, and needs a driver that is new enough. Machine code (`sm_80`)
runs on GPUs of its own major version with an equal or higher minor one, PTX code (`compute_80`) on all higher ones too
(NVIDIA, *CUDA C++ Programming Guide*, "Binary Compatibility" and "PTX Compatibility").
"""

import os
import re
import warnings
from collections.abc import Sequence
from typing import Final

import torch
from packaging.version import Version

from translator.run.installing import install_command
from translator.run.nvidia_driver import (
    GpuProblem,
    card_names,
    driver_problem,
    driver_version,
    gpus_are_hidden,
    warn_of_unused_gpu,
)

_INDEX: Final = "https://download.pytorch.org/whl"
_OLD_BUILD: Final = "cu126"  # torch for CUDA 12.6, the last build for compute capabilities below 7.5
_NEW_BUILD: Final = "cu130"  # torch for CUDA 13.0
_FIRST_WITHOUT_OLD_BUILD: Final = Version("2.15")
"""PyTorch publishes no wheels for CUDA 12.6 from this version on (https://github.com/pytorch/pytorch/issues/190385)."""
_OLDEST_CAPABILITY: Final = {_OLD_BUILD: (5, 0), _NEW_BUILD: (7, 5)}
_OLDEST_DRIVER: Final = {"12": 525, "13": 580}
"""First driver branch for each major version of CUDA (NVIDIA, *CUDA Toolkit Release Notes*, "CUDA Driver")."""


def gpu_count() -> int:
    """Return how many GPUs torch sees, through CUDA or ROCm, whether or not it can compute on them."""
    # `device_count` alone counts GPUs that CUDA cannot start, such as those of an old driver.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an old driver; `gpu_problem` explains it
        return torch.cuda.device_count() if torch.cuda.is_available() else 0


def usable_gpus() -> list[int]:
    """Return the numbers of the GPUs that torch can compute on."""
    return [number for number in range(gpu_count()) if gpu_problem(number) is None]


def gpu_problem(number: int = 0) -> GpuProblem | None:
    """Return why torch cannot compute on GPU `number`; None if it can, or if this machine has no NVIDIA GPU.

    GPUs that CUDA_VISIBLE_DEVICES hides are no problem.
    """
    return _missing_kernels(number) if gpu_count() > 0 else _invisible_gpu()


def use_expandable_segments() -> None:
    """Let GPU memory grow in expandable segments; takes effect before CUDA starts in this process."""
    # Searches vary in size: expandable segments avoid memory fragmentation. A user's own setting stays.
    if not {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"} & os.environ.keys():
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"


def caution_about_gpu(setting: str, device: torch.device) -> None:
    """Warn, once per process, if an NVIDIA GPU cannot be used and therefore the CPU computes.

    Args:
        setting: the value of `run.device`; `cpu` means that the user wants no GPU.
        device: the chosen device.
    """
    if setting == "cpu" or device.type != "cpu":
        return
    problem = gpu_problem()
    if problem is not None:
        warn_of_unused_gpu(problem)


def _missing_kernels(number: int) -> GpuProblem | None:
    """Return the problem if this torch has no code for GPU `number`, which it sees."""
    if torch.version.cuda is None:  # ROCm
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own warning about the same, of several lines
        architectures = torch.cuda.get_arch_list()
        use_expandable_segments()  # the next line starts CUDA
        capability = torch.cuda.get_device_capability(number)
        if not architectures or has_kernels(capability, architectures):
            return None
        name = torch.cuda.get_device_name(number)
    return GpuProblem(
        reason=(
            f"torch {torch.__version__} has no code for GPU {number} ({name}, compute capability "
            f"{capability[0]}.{capability[1]}), only for {', '.join(architectures)}"
        ),
        remedy=_remedy_for_capability(capability),
    )


def has_kernels(capability: tuple[int, int], architectures: Sequence[str]) -> bool:
    """Return whether code for `architectures`, such as `sm_80` or `compute_90`, runs on a GPU of this capability."""
    for architecture in architectures:
        parts = re.fullmatch(r"(sm|compute)_(\d+)(\d)[af]?", architecture)
        if parts is None:
            continue
        kind = parts[1]
        major, minor = int(parts[2]), int(parts[3])
        if kind == "sm" and capability[0] == major and capability[1] >= minor:
            return True
        if kind == "compute" and capability >= (major, minor):
            return True
    return False


def _remedy_for_capability(capability: tuple[int, int]) -> str:
    if capability < _OLDEST_CAPABILITY[_OLD_BUILD]:
        return "no torch that translator supports has code for it; use another GPU"
    if capability < _OLDEST_CAPABILITY[_NEW_BUILD]:
        return f"install torch for CUDA 12.6, which has it: {_install_command(_OLD_BUILD)}"
    if str(torch.version.cuda).startswith("12"):
        return _remedy_by_cuda_13()
    return f"install a newer torch: {install_command('--upgrade', 'torch')}"


def _remedy_by_cuda_13() -> str:
    return f"install torch for CUDA 13, which needs driver 580 or newer: {_install_command(_NEW_BUILD)}"


def _install_command(build: str) -> str:
    """Return the command that replaces the installed torch by the same version in another build."""
    # The local version label makes pip install it although the same version is there.
    version = Version(torch.__version__)
    requirement = f"torch=={version.public}+{build}"
    if build == _OLD_BUILD and version.release >= _FIRST_WITHOUT_OLD_BUILD.release:
        requirement = f"torch<{_FIRST_WITHOUT_OLD_BUILD}"
    return install_command(requirement, "--index-url", f"{_INDEX}/{build}")


def _invisible_gpu() -> GpuProblem | None:
    """Return why torch sees none of the NVIDIA GPUs; None if there is none, or if the user hides them."""
    # 1. The driver: the kernel module, and access to it.
    problem = driver_problem()
    driver = driver_version()
    if problem is not None or driver is None or gpus_are_hidden():
        return problem

    # 2. The build of torch.
    if torch.version.cuda is None:
        return GpuProblem(
            reason=f"torch {torch.__version__}, which is built without CUDA, cannot use {card_names()}",
            remedy=_remedy_for_driver(driver),
        )

    # 3. The two together.
    error = _error_at_start()
    if "driver on your system is too old" in error:
        return GpuProblem(
            reason=(
                f"torch {torch.__version__} for CUDA {torch.version.cuda} cannot use {card_names()}, since the NVIDIA "
                f"driver {driver} is too old"
            ),
            remedy=_remedy_for_driver(driver),
        )
    return GpuProblem(
        reason=f"torch {torch.__version__} cannot start {card_names()} with driver {driver} ({error})",
        remedy="see what the command nvidia-smi says; after an update of the driver, restart the machine",
    )


def _remedy_for_driver(driver: str) -> str:
    """Return what to install for a GPU of unknown compute capability with this driver."""
    digits = re.match(r"\d+", driver)
    if digits is None and torch.version.cuda is None:
        return _remedy_by_cuda_13()
    branch = int(digits[0]) if digits else 0
    if branch >= _OLDEST_DRIVER["13"]:
        older = "for a GPU older than T4 and RTX 20, with cu126 in place of cu130"
        return f"install torch for CUDA 13: {_install_command(_NEW_BUILD)} ({older})"
    update = "install driver 580 or newer"
    if branch >= _OLDEST_DRIVER["12"]:
        limits = "which this driver supports, for GPUs of compute capability 5.0 to 9.0"
        return f"{update}, or torch for CUDA 12.6, {limits}: {_install_command(_OLD_BUILD)}"
    return update


def _error_at_start() -> str:
    """Return the first line of the error with which torch fails to start CUDA; empty if it starts."""
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
    except (RuntimeError, AssertionError) as error:
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    return ""
