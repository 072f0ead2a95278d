"""Settings chosen for the machine: precision, kernels, packing, compilation, number of processes and threads.

The rules use properties of the machine, not timings. So every run makes the same choices and is
bit-reproducible. The choices are logged and recorded in run.json.
"""

import os
import shutil
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch

from translator.config import Config, TrainingConfig
from translator.errors import ConfigError
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
from translator.training.distributed import Distributed

FEWEST_COMPILED: Final = 5_000  # updates; on an H100, Transformer-big gains the compilation's time in about 4,000
LEAST_COMPILED: Final = 1024  # width of the model; an H100 gains at 1024, but loses at 512 (docs/results.md)


@dataclass(frozen=True)
class Choices:
    """The chosen settings, with reasons for the log and run.json."""

    precision: Precision
    matmul_precision: MatmulPrecision
    packed: bool
    attention: Literal["fused", "plain"]
    compile: bool
    reasons: dict[str, str]  # by key of the recipe: the choice and its reason


def choose(device: torch.device, config: Config) -> Choices:
    """Return the settings for training on `device`: those of `config`, with each `auto` resolved for the device.

    Raises ConfigError: bf16 on a GPU that does not support it, or a compiled step on a CPU.
    """
    precision, why = _precision(device, config.training)
    rounding = choose_rounding(device, config.training.matmul_precision)
    compiled, why_compiled = _compilation(device, config.training, config.model.d_model)
    packed = device.type == "cpu" and not compiled
    attention, why_attention = config.training.attention, "as set"
    if attention == "auto":
        attention, why_attention = ("plain", "on a CPU") if packed else ("fused", "not on a CPU")
    products = "float32 products stay exact" if rounding == "highest" else "float32 products may round"
    reasons = {
        "training.precision": f"{precision} ({why})",
        "training.matmul_precision": f"{rounding} ({products})",
        "training.compile": f"{'yes' if compiled else 'no'} ({why_compiled})",
        "training.attention": f"{attention} ({why_attention})",
        "tokens": "linear layers on real tokens only" if packed else "padded batches",
    }
    return Choices(precision, rounding, packed, attention, compiled, reasons)


def _precision(device: torch.device, config: TrainingConfig) -> tuple[Precision, str]:
    name = {"cpu": "CPU", "mps": "Apple GPU"}.get(device.type, "GPU")
    if config.precision != "auto":
        if config.precision == "bf16" and device.type == "cuda" and not has_bf16(device):
            raise ConfigError("training.precision is `bf16`, but this GPU lacks it; use fp16, float32 or auto")
        return config.precision, "as set"
    if not has_bf16(device) and fp16_pays(device):
        return "fp16", "this GPU supports fp16, but not bf16"
    if not has_bf16(device):
        return "float32", f"this {name} does not support bf16"
    if device.type == "mps":
        return "float32", "bf16 is not measured on Apple GPUs"
    if not bf16_pays(device):
        return "float32", f"this {name} supports bf16 only in AVX-512, which is slower"
    return "bf16", f"this {name} supports it"


def _compilation(device: torch.device, config: TrainingConfig, width: int) -> tuple[bool, str]:
    if device.type == "cpu" and config.compile == "always":
        raise ConfigError("training.compile is `always`, but on a CPU a compiled step is slower; use auto or never")
    if config.compile != "auto":
        return config.compile == "always", "as set"
    if device.type != "cuda":
        return False, "no gain on a CPU" if device.type == "cpu" else "not tested on Apple GPUs"
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        return False, "torch.compile needs a C compiler, and none is installed"
    why = f"{config.max_steps:,} updates, d_model {width}; worth it from {FEWEST_COMPILED:,} and {LEAST_COMPILED} on"
    return config.max_steps >= FEWEST_COMPILED and width >= LEAST_COMPILED, why


def choose_processes(config: Config) -> tuple[int, str]:
    """Return the number of processes on this machine that share each update, and the reason (see docs/scaling.md)."""
    if config.training.processes != "auto":
        return config.training.processes, "as set"
    kind = choose_device(config.run.device).type
    if kind == "cpu":
        return 1, "on a CPU one process with all threads is faster"
    if kind == "mps" or config.run.device not in ("auto", "cuda"):
        return 1, "one for this GPU"
    return max(1, torch.cuda.device_count()), "one for each GPU"


def threads_for(threads: int, processes: int) -> int:
    """Return the threads per process if `processes` share `threads`; 0 (all cores) stays 0."""
    return max(1, threads // processes) if threads else 0


def set_up(config: Config, device: torch.device, distributed: Distributed) -> Choices:
    """Apply the process-wide settings, and return the choices; errors as `choose`."""
    if device.type == "cuda":
        set_up_cuda()
    else:
        keep_freed_memory()
    # Without a number, torch uses the launcher's setting, or all cores.
    use_threads(threads_for(config.run.threads, int(os.environ.get("LOCAL_WORLD_SIZE", distributed.world_size))))
    choices = choose(device, config)
    torch.set_float32_matmul_precision(choices.matmul_precision)
    torch.manual_seed(config.run.seed)  # for the initial weights; each update sets its own seed
    processes, why = choose_processes(config)
    world_size = distributed.world_size
    choices.reasons["training.processes"] = f"{world_size} ({why if world_size == processes else 'as launched'})"
    return choices


def set_up_cuda() -> None:
    """Set allocation, float32 products and attention kernels of GPUs; call it before the first tensor is on a GPU."""
    if not {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"} & os.environ.keys():
        # Batches vary in size: expandable segments avoid memory fragmentation.
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    # Partial sums of reduced-precision products stay float32, as on a CPU.
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    # Torch prefers cuDNN's attention on newer GPUs. But it plans each new shape anew, and with a mask it produces NaN
    # gradients at some lengths (pytorch issue 196678).
    torch.backends.cuda.enable_cudnn_sdp(False)


def seed_update(seed: int, step: int, rank: int) -> None:
    """Seed torch for update number `step` of `rank`, so that its dropout is independent of earlier updates."""
    torch.manual_seed(int(np.random.SeedSequence([seed, step, rank]).generate_state(1, np.uint64)[0]))
