"""Settings chosen for the machine: precision, compilation, capture, number of processes and threads.

The rules use properties of the machine, not timings. So every run makes the same choices and is
bit-reproducible. The choices are logged and recorded in run.json.
"""

import importlib.util
import shutil
from dataclasses import dataclass
from typing import Final, Literal

import torch

from translator.config import Config, TrainingConfig
from translator.errors import ConfigError
from translator.run.logging import LOGGER, RECORD
from translator.speed.device import (
    GPU_ROUNDING,
    Precision,
    bf16_pays,
    choose_device,
    fp16_pays,
    has_bf16,
    keep_freed_memory,
    use_threads,
)
from translator.speed.gpu_support import gpu_count, use_expandable_segments
from translator.training.distributed import Distributed

FEWEST_COMPILED: Final = 2_000
"""Fewest updates of a run for which compilation is worth its 15 to 20 s; estimated from a prototype, not measured."""
OLDEST_COMPILED: Final = (7, 0)  # compute capability of the oldest GPUs for which Triton compiles


@dataclass(frozen=True)
class Choices:
    """The chosen settings."""

    precision: Precision
    compile: bool  # layers and output head
    capture: bool  # forward and backward pass in a CUDA graph

    def summary(self, processes: int) -> str:
        """Return the choices as one line."""
        parts = [f"training in {self.precision}", f"{processes} process" + ("es" if processes > 1 else "")]
        if self.compile:
            parts.append("compiled")
        if self.capture:
            parts.append("in a CUDA graph")
        return ", ".join(parts)


def choose(device: torch.device, config: Config) -> Choices:
    """Return the settings for training on `device`: those of `config`, with each `auto` resolved for the device.

    Raises ConfigError: bf16 on a GPU that does not support it, or a compiled step on a CPU.
    """
    settings = config.training
    precision, reason = choose_precision(device, settings.precision)
    RECORD.info("training.precision: %s (%s)", precision, reason)
    return Choices(
        precision=precision,
        compile=_compiles(device, settings),
        capture=device.type == "cuda" and settings.compile != "never",
    )


def choose_precision(device: torch.device, setting: Precision | Literal["auto"] = "auto") -> tuple[Precision, str]:
    """Return the precision of the forward pass in training on `device`, and the reason.

    Raises ConfigError: `setting`, the value of `training.precision`, is bf16 on a GPU that does not support it.
    """
    if setting != "auto":
        if setting == "bf16" and device.type == "cuda" and not has_bf16(device):
            raise ConfigError("training.precision is `bf16`, but this GPU lacks it; use fp16, float32 or auto")
        return setting, "as set"
    processor = {"cpu": "CPU", "mps": "Apple GPU"}.get(device.type, "GPU")
    supports_bf16 = has_bf16(device)
    if not supports_bf16 and fp16_pays(device):
        return "fp16", "this GPU supports fp16, but not bf16"
    if not supports_bf16:
        return "float32", f"this {processor} does not support bf16"
    if device.type == "mps":
        return "float32", "bf16 is not measured on Apple GPUs"
    if not bf16_pays(device):
        return "float32", f"this {processor} supports bf16 only in AVX-512, which is slower"
    return "bf16", f"this {processor} supports it"


def _compiles(device: torch.device, config: TrainingConfig) -> bool:
    """Return whether layers and output head are compiled; log what is missing, if only the tools are.

    Raises ConfigError: `training.compile` is `always` on a CPU.
    """
    if device.type == "cpu" and config.compile == "always":
        raise ConfigError("training.compile is `always`, but on a CPU a compiled step is slower; use auto or never")
    if config.compile != "auto":
        return config.compile == "always"
    if device.type != "cuda" or config.max_steps < FEWEST_COMPILED:
        return False
    if torch.cuda.get_device_capability(device) < OLDEST_COMPILED:
        return False
    has_compiler = any(map(shutil.which, ("cc", "gcc", "clang")))
    if not has_compiler or importlib.util.find_spec("triton") is None:
        LOGGER.info("nothing is compiled: torch.compile needs a C compiler and Triton")
        return False
    return True


def choose_processes(config: Config) -> int:
    """Return the number of processes on this machine that share each update: one for each GPU (see docs/scaling.md)."""
    if config.training.processes != "auto":
        return config.training.processes
    if choose_device(config.run.device).type != "cuda" or config.run.device not in ("auto", "cuda"):
        return 1  # on a CPU, one process with all threads is faster
    return gpu_count()


def threads_for(threads: int, processes: int) -> int:
    """Return the threads per process if `processes` share `threads`; 0 (all cores) stays 0."""
    if threads == 0:
        return 0
    return max(1, threads // processes)


def set_up(config: Config, device: torch.device, distributed: Distributed) -> Choices:
    """Apply the process-wide settings, and return the choices; errors as `choose`."""
    if device.type == "cuda":
        set_up_cuda()
        torch.cuda.set_device(device)  # streams and CUDA graphs are of the current device
    else:
        keep_freed_memory()
    choices = choose(device, config)
    if device.type == "cuda" and choices.precision != "float32":
        torch.set_float32_matmul_precision(GPU_ROUNDING)
    # Without a number, torch uses the launcher's setting, or all cores.
    use_threads(threads_for(config.run.threads, distributed.local_world_size))
    torch.manual_seed(config.run.seed)  # for the initial weights; each update sets its own seed
    return choices


def set_up_cuda() -> None:
    """Set allocation, float32 products and attention kernels of GPUs; call it before the first tensor is on a GPU."""
    use_expandable_segments()
    # Partial sums of reduced-precision products stay float32, as on a CPU.
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    # Torch prefers cuDNN's attention on newer GPUs. But with a mask it produces NaN gradients at some lengths (pytorch
    # issue 196678), and in searches it plans each new shape anew.
    torch.backends.cuda.enable_cudnn_sdp(False)
