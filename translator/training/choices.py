"""What a recipe leaves to the machine: precision, kernels, processes. Each choice is a rule on facts, never a race of
timings, so that the same machine always chooses the same and a run comes out in the same bits twice.
"""

import os
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import torch

from translator.config import Config, TrainingConfig
from translator.device import (
    MatmulPrecision,
    Precision,
    bf16_pays,
    choose_device,
    choose_rounding,
    has_bf16,
    keep_freed_memory,
    use_threads,
)
from translator.errors import ConfigError
from translator.matrix_rate import bf16_is_right
from translator.training.cuda_settings import set_up_cuda
from translator.training.randomness import seed_everything
from translator.training.ranks import Ranks

WORTH_COMPILING: Final = 2_000
"""Steps; compiling takes a minute or two."""


@dataclass(frozen=True)
class Choices:
    """What was chosen, each with the reason, for the log and for run.json."""

    precision: Precision
    matmul_precision: MatmulPrecision
    packed: bool
    attention: Literal["fused", "plain"]
    compile: bool
    reasons: dict[str, str]

    def lines(self) -> list[str]:
        """Return one line for each choice."""
        return [f"{key}: {reason}" for key, reason in self.reasons.items()]

    def to_json(self) -> dict[str, Any]:
        """Return the choices as JSON values."""
        return asdict(self)


def choose(device: torch.device, config: TrainingConfig) -> Choices:
    """Return what training on `device` does where `config` says `auto`, and what it says elsewhere.

    Raises:
        ConfigError: bf16 is asked for on a GPU that cannot compute it.
    """
    on_cpu = device.type == "cpu"
    reasons = {}
    precision, reasons["training.precision"] = _precision(device, config)
    rounding, reasons["training.matmul_precision"] = _rounding(device, config)
    if config.compile == "auto":
        compiled = not on_cpu and config.max_steps >= WORTH_COMPILING
        why = "on a CPU it gains too little" if on_cpu else f"{config.max_steps} steps"
        reasons["training.compile"] = f"{'yes' if compiled else 'no'} ({why})"
    else:
        compiled = config.compile == "always"
        reasons["training.compile"] = f"{'yes' if compiled else 'no'} (as set)"
    if config.attention == "auto":
        attention: Literal["fused", "plain"] = "plain" if on_cpu and not compiled else "fused"
        why = "faster for short sentences on a CPU; long ones take the fused kernel" if on_cpu else "on a GPU"
        reasons["training.attention"] = f"{attention} ({'compiled' if on_cpu and compiled else why})"
    else:
        attention = config.attention
        reasons["training.attention"] = f"{attention} (as set)"
    packed = on_cpu and not compiled
    reasons["tokens"] = "linear layers on real tokens only, in sizes that come again" if packed else "padded batches"
    return Choices(precision, rounding, packed, attention, compiled, reasons)


def _precision(device: torch.device, config: TrainingConfig) -> tuple[Precision, str]:
    there = has_bf16(device)
    if config.precision == "float32":
        return "float32", "float32 (as set)"
    if config.precision == "bf16":
        if device.type == "cuda" and not there:
            raise ConfigError("training.precision is `bf16`, but this GPU has none; use float32 or auto")
        return "bf16", "bf16 (as set)"
    if not there:
        return "float32", f"float32 (this {_name(device)} has no bf16)"
    if not bf16_pays(device):
        return "float32", f"float32 (this {_name(device)} has bf16 in AVX-512 only, which is slower)"
    if not bf16_is_right(device):
        return "float32", f"float32 (bf16 products of this {_name(device)} came out wrong in a test)"
    return "bf16", f"bf16 (this {_name(device)} has it, and it was tried)"


def _rounding(device: torch.device, config: TrainingConfig) -> tuple[MatmulPrecision, str]:
    rounding = choose_rounding(device, config.matmul_precision)
    if config.matmul_precision != "auto":
        return rounding, f"{rounding} (as set)"
    if rounding == "highest":
        return rounding, f"{rounding} (float32 products of this {_name(device)} gain nothing by rounding inside)"
    return rounding, f"{rounding} (float32 products may round inside)"


def _name(device: torch.device) -> str:
    return "CPU" if device.type == "cpu" else "GPU"


def choose_processes(config: Config) -> tuple[int, str]:
    """Return how many processes of this machine share each update, and why.

    On a CPU one process of all threads was measured to beat two of half the threads each (docs/results.md).
    """
    if config.training.processes != "auto":
        return config.training.processes, "as set"
    device = choose_device(config.run.device)
    if device.type == "cuda":
        if config.run.device not in ("auto", "cuda"):
            return 1, "one for the GPU that run.device names"
        return max(1, torch.cuda.device_count()), "one for each GPU"
    return 1, "on a CPU one process of all threads is faster"


def threads_for(threads: int, processes: int) -> int:
    """Return the threads of each of `processes` that share `threads`; 0, all there are, stays 0."""
    return max(1, threads // processes) if threads else 0


def set_up(config: Config, device: torch.device, ranks: Ranks) -> Choices:
    """Set what holds for the whole process, choose what is left to the machine, and return the choices.

    Raises:
        ConfigError: bf16 is asked for on a GPU that cannot compute it.
    """
    if device.type == "cuda":
        set_up_cuda()
    else:
        keep_freed_memory()
    # Without a number torch takes what the launcher of several processes has set, or all cores.
    use_threads(threads_for(config.run.threads, int(os.environ.get("LOCAL_WORLD_SIZE", ranks.world))))
    choices = choose(device, config.training)
    torch.set_float32_matmul_precision(choices.matmul_precision)
    seed_everything(config.run.seed)
    processes, why = choose_processes(config)
    choices.reasons["training.processes"] = f"{ranks.world} ({why if ranks.world == processes else 'as launched'})"
    return choices
