"""Whether torch can compute on the NVIDIA GPUs of this machine; if not, why, and the page to read.

A build of torch has code for some compute capabilities, and needs a driver that is new enough. Machine code (`sm_80`)
runs on GPUs of its own major version with an equal or higher minor one, PTX code (`compute_80`) on all higher ones too
(NVIDIA, *CUDA C++ Programming Guide*, "Binary Compatibility" and "PTX Compatibility").
"""

import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import torch

from translator.run.logging import warn_once

WHAT_TO_INSTALL: Final = "docs/training.md says what to install (`The right torch for the GPU`)"
_DRIVER: Final = Path("/proc/driver/nvidia/version")


def gpu_count() -> int:
    """Return how many GPUs torch sees, through CUDA or ROCm, whether or not it can compute on them."""
    # `device_count` alone counts GPUs that CUDA cannot start, such as those of an old driver.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an old driver; `gpu_problem` names it
        return torch.cuda.device_count() if torch.cuda.is_available() else 0


def gpu_problem(number: int = 0) -> str | None:
    """Return why torch cannot compute on GPU `number`; None if it can, or if this machine has no NVIDIA driver.

    GPUs that the user hides, by a CUDA_VISIBLE_DEVICES that is empty or -1, are no problem.
    """
    # torch sees GPUs, but may lack code for them.
    if gpu_count() > 0:
        return _missing_kernels(number)
    # There is no GPU, or the user hides it.
    is_hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    if not _DRIVER.exists() or is_hidden:
        return None
    # There is a GPU that torch does not see: the error of starting CUDA says why.
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        return f"torch {torch.__version__} cannot use the NVIDIA GPU ({reason})"
    return None


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
        warn_once(f"the CPU computes, not the GPU: {problem}; {WHAT_TO_INSTALL}; run.device=cpu ends this warning")


def _missing_kernels(number: int) -> str | None:
    """Return the problem if this torch has no code for GPU `number`, which it sees; None if it has code for it."""
    if torch.version.cuda is None:  # torch for ROCm, whose GPUs are not checked
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own warning about the same, of several lines
        architectures = torch.cuda.get_arch_list()
        use_expandable_segments()  # a setting that has no effect later: the next line starts CUDA
        capability = torch.cuda.get_device_capability(number)
        if not architectures or has_kernels(capability, architectures):  # an empty list says nothing
            return None
        name = torch.cuda.get_device_name(number)
    return (
        f"torch {torch.__version__} has no code for GPU {number} ({name}, compute capability "
        f"{capability[0]}.{capability[1]}), only for {', '.join(architectures)}"
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
