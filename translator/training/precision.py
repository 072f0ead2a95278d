"""Settings chosen for the machine: precision, kernels, compilation, capture, number of processes and threads.

The rules use properties of the machine, not timings. So every run makes the same choices and is
bit-reproducible. The choices are logged and recorded in run.json.
"""

import importlib.util
import shutil
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch

from translator.config import Config, TrainingConfig
from translator.errors import ConfigError
from translator.model.attention import KernelName
from translator.model.device import (
    MatmulPrecision,
    Precision,
    bf16_pays,
    choose_device,
    choose_rounding,
    fp16_pays,
    has_bf16,
    keep_freed_memory,
    use_threads,
)
from translator.model.gpu_support import gpu_problem, usable_gpus, use_expandable_segments
from translator.training.distributed import Distributed

FEWEST_COMPILED: Final = 2_000
"""Fewest updates of a run for which compilation is worth its 15 to 20 s; estimated from a prototype, not measured."""
OLDEST_COMPILED: Final = (7, 0)  # compute capability of the oldest GPUs for which Triton compiles
LONGEST_PLAIN: Final = 256
"""Longest row for which a CPU uses the plain kernel, whose weights take memory in proportion to the row length."""


@dataclass(frozen=True)
class Choices:
    """The chosen settings, with reasons for the log and run.json."""

    precision: Precision
    matmul_precision: MatmulPrecision
    attention: KernelName
    compile: bool  # layers and output head
    capture: bool  # forward and backward pass in a CUDA graph
    reasons: dict[str, str]  # by key of the recipe: the choice and its reason

    def summary(self, processes: int) -> str:
        """Return the choices as one line, without their reasons."""
        parts = [f"training in {self.precision}", f"{processes} process" + ("es" if processes > 1 else "")]
        if self.compile:
            parts.append("compiled")
        if self.capture:
            parts.append("in a CUDA graph")
        if "run.device" in self.reasons:
            parts.append(f"on {self.reasons['run.device']}")
        return ", ".join(parts) + " (log.txt says why)"


def choose(device: torch.device, config: Config) -> Choices:
    """Return the settings for training on `device`: those of `config`, with each `auto` resolved for the device.

    Raises ConfigError: bf16 on a GPU that does not support it, or a compiled step on a CPU.
    """
    precision, precision_reason = choose_precision(device, config.training.precision)
    rounding = choose_rounding(device, config.training.matmul_precision)
    rounding_reason = "float32 products stay exact" if rounding == "highest" else "float32 products may round"
    attention, attention_reason = _attention(device, config)
    compiles, compile_reason = _compilation(device, config.training)
    captures, capture_reason = _capture(device, config.training)
    return Choices(
        precision=precision,
        matmul_precision=rounding,
        attention=attention,
        compile=compiles,
        capture=captures,
        reasons={
            "training.precision": f"{precision} ({precision_reason})",
            "training.matmul_precision": f"{rounding} ({rounding_reason})",
            "training.attention": f"{attention} ({attention_reason})",
            "training.compile": f"{_yes_or_no(compiles)} ({compile_reason})",
            "CUDA graph": f"{_yes_or_no(captures)} ({capture_reason})",
        },
    )


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def choose_precision(device: torch.device, setting: Precision | Literal["auto"] = "auto") -> tuple[Precision, str]:
    """Return the precision of the forward pass in training on `device`, and the reason.

    Raises ConfigError: `setting`, the value of `training.precision`, is bf16 on a GPU that does not support it.
    """
    if setting != "auto":
        if setting == "bf16" and device.type == "cuda" and not has_bf16(device):
            raise ConfigError("training.precision is `bf16`, but this GPU lacks it; use fp16, float32 or auto")
        return setting, "as set"
    processor = {"cpu": "CPU", "mps": "Apple GPU"}.get(device.type, "GPU")
    if not has_bf16(device) and fp16_pays(device):
        return "fp16", "this GPU supports fp16, but not bf16"
    if not has_bf16(device):
        return "float32", f"this {processor} does not support bf16"
    if device.type == "mps":
        return "float32", "bf16 is not measured on Apple GPUs"
    if not bf16_pays(device):
        return "float32", f"this {processor} supports bf16 only in AVX-512, which is slower"
    return "bf16", f"this {processor} supports it"


def _attention(device: torch.device, config: Config) -> tuple[KernelName, str]:
    """Return the attention kernel, and the reason."""
    if config.training.attention != "auto":
        return config.training.attention, "as set"
    if device.type != "cpu":
        return "fused", "not on a CPU"
    if config.batching.max_length > LONGEST_PLAIN:
        return "fused", f"rows of more than {LONGEST_PLAIN} positions"
    return "plain", "on a CPU"


def _compilation(device: torch.device, config: TrainingConfig) -> tuple[bool, str]:
    """Return whether layers and output head are compiled, and the reason."""
    if device.type == "cpu" and config.compile == "always":
        raise ConfigError("training.compile is `always`, but on a CPU a compiled step is slower; use auto or never")
    if config.compile != "auto":
        return config.compile == "always", "as set"
    if device.type == "cpu":
        return False, "no gain on a CPU"
    if device.type != "cuda":
        return False, "not tested on Apple GPUs"
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        return False, "torch.compile needs a C compiler, and none is installed"
    if importlib.util.find_spec("triton") is None:
        return False, "torch.compile needs Triton, which is not installed"
    if torch.cuda.get_device_capability(device) < OLDEST_COMPILED:
        return False, "torch.compile needs a GPU of compute capability 7.0 or newer"
    reason = f"{config.max_steps:,} updates; worth it from {FEWEST_COMPILED:,} on"
    return config.max_steps >= FEWEST_COMPILED, reason


def _capture(device: torch.device, config: TrainingConfig) -> tuple[bool, str]:
    """Return whether forward and backward pass are captured in a CUDA graph, and the reason."""
    if device.type != "cuda":
        return False, "only on a CUDA GPU"
    if config.compile == "never":
        return False, "training.compile is `never`"
    return True, "one launch instead of a thousand"


def choose_processes(config: Config) -> tuple[int, str]:
    """Return the number of processes on this machine that share each update, and the reason (see docs/scaling.md)."""
    if config.training.processes != "auto":
        return config.training.processes, "as set"
    device = choose_device(config.run.device)
    if device.type == "cpu":
        return 1, "on a CPU one process with all threads is faster"
    if device.type == "mps" or config.run.device not in ("auto", "cuda"):
        return 1, "one for this GPU"
    # Rank n computes on GPU n, so the GPUs after an unusable one do not count.
    gpus = sum(number == rank for rank, number in enumerate(usable_gpus()))
    return max(1, gpus), "one for each GPU"


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
    # Without a number, torch uses the launcher's setting, or all cores.
    world_size = distributed.world_size
    use_threads(threads_for(config.run.threads, distributed.local_world_size))
    choices = choose(device, config)
    torch.set_float32_matmul_precision(choices.matmul_precision)
    torch.manual_seed(config.run.seed)  # for the initial weights; each update sets its own seed
    processes, reason = choose_processes(config)
    if processes != world_size:
        reason = "as launched"
    choices.reasons["training.processes"] = f"{world_size} ({reason})"
    problem = gpu_problem() if device.type == "cpu" and config.run.device != "cpu" else None
    if problem is not None:
        choices.reasons["run.device"] = f"cpu ({problem.reason})"
    return choices


def set_up_cuda() -> None:
    """Set allocation, float32 products and attention kernels of GPUs; call it before the first tensor is on a GPU."""
    use_expandable_segments()
    # Partial sums of reduced-precision products stay float32, as on a CPU.
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    # Torch prefers cuDNN's attention on newer GPUs. But with a mask it produces NaN gradients at some lengths (pytorch
    # issue 196678), and in searches it plans each new shape anew.
    torch.backends.cuda.enable_cudnn_sdp(False)


def seed_update(seed: int, step: int, rank: int) -> None:
    """Seed torch for update number `step` of `rank`, so that its dropout is independent of earlier updates."""
    sequence = np.random.SeedSequence([seed, step, rank])
    (update_seed,) = sequence.generate_state(1, np.uint64)
    torch.manual_seed(int(update_seed))
