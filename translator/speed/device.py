"""Devices: selection, precision, number of threads, and memory."""

import contextlib
import ctypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import torch

from translator.config import Config
from translator.config.keys import DEVICE, DEVICE_NAMES
from translator.errors import ConfigError, RunError
from translator.speed.gpu_support import WHAT_TO_INSTALL, gpu_count, gpu_problem

Precision = Literal["float32", "bf16", "fp16"]
_TYPES: Final = {"float32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}

GPU_ROUNDING: Final = "medium"  # of float32 products, by `torch.set_float32_matmul_precision`: TF32
_FP16_CAPABILITY: Final = (7, 0)  # first compute capability with matrix units: V100; T4 and RTX 20 have 7.5
_BF16_CAPABILITY: Final = (8, 0)  # first with matrix units for bfloat16: A100; RTX 30 has 8.6
_NO_MEMORY: Final = re.compile(
    "CUBLAS_STATUS_ALLOC_FAILED|CUDA error: out of memory|MPS backend out of memory|can't allocate memory"
)
_MALLOPT: Final = {-3: 1 << 30, -1: 2**31 - 1}  # glibc's M_MMAP_THRESHOLD and M_TRIM_THRESHOLD (malloc.h)


def choose_device(name: str) -> torch.device:
    """Return the device called `name`; for `auto`, the first GPU if torch can use it, else an Apple GPU or the CPU.

    A GPU is returned with its number: `cuda` becomes `cuda:0`.

    Raises ConfigError: the device is unavailable, or this torch cannot compute on it.
    """
    if re.fullmatch(DEVICE, name) is None:
        raise ConfigError(f"the device is {DEVICE_NAMES}, not `{name}`")
    if name == "auto":
        if gpu_count() > 0 and gpu_problem() is None:
            return torch.device("cuda", 0)
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")

    # A device that the user names must exist.
    device = torch.device(name)
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ConfigError("run.device is `mps`, but torch finds no Apple GPU here; use run.device=cpu or auto")
    if device.type == "cuda":
        return _choose_gpu(name, device.index or 0)
    return device


def _choose_gpu(name: str, number: int) -> torch.device:
    """Return the GPU with this number; raise ConfigError if torch cannot use it."""
    count = gpu_count()
    if 0 < count <= number:
        raise ConfigError(f"run.device is `{name}`, but there are only {count} GPUs (from 0)")
    problem = gpu_problem(number)
    if problem is not None:
        raise ConfigError(f"run.device is `{name}`, but {problem}; {WHAT_TO_INSTALL}; or use run.device=cpu")
    if count == 0:
        raise ConfigError(f"run.device is `{name}`, but torch finds no CUDA GPU here; use run.device=cpu or auto")
    # Torch's functions for the current device, the random state and streams need the number.
    return torch.device("cuda", number)


def autocast(device: torch.device, precision: Precision) -> contextlib.AbstractContextManager[object]:
    """Return the context of a forward pass on `device` in `precision`; weights stay float32."""
    if precision == "float32":
        return contextlib.nullcontext()
    # Without the cache of rounded weights: each is used once, and a CUDA graph must not hold it.
    return torch.autocast(device.type, dtype=_TYPES[precision], cache_enabled=False)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether torch reports with `error` that memory ran out."""
    # Only torch's own allocator for CUDA has a type for it; cuBLAS, CUDA itself, Apple's GPUs and CPUs say it in words.
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and _NO_MEMORY.search(str(error)) is not None


@contextlib.contextmanager
def memory_errors(config: Config) -> Iterator[None]:
    """Convert torch's errors about a lack of memory to a RunError that names the keys to change."""
    try:
        yield
    except RuntimeError as error:
        # The end of a CUDA graph's capture may raise another error, whose context is the lack of memory.
        if not is_out_of_memory(error) and not is_out_of_memory(error.__context__):
            raise
        positions = config.batching.tokens_per_batch
        raise RunError(
            f"memory ran out with batches of {positions:,} positions per side. Lower batching.tokens_per_batch (now "
            f"{positions:,}); to keep the size of an update, raise training.accumulation_steps (now "
            f"{config.training.accumulation_steps}) in the same proportion. An existing run accepts both with "
            "--allow-changed; its last checkpoint is intact"
        ) from error


@contextlib.contextmanager
def model_must_fit(remedy: str) -> Iterator[None]:
    """Turn a lack of memory in the block, which loads a model, into a RunError that ends in `remedy`."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        reason = str(error).partition("\n")[0]
        raise RunError(
            f"the model does not fit into the free memory ({reason}); stop other programs, or {remedy}"
        ) from error


def has_bf16(device: torch.device) -> bool:
    """Return whether `device` multiplies bfloat16 in hardware, without conversion to float32."""
    if device.type == "cuda":
        # torch's own `is_bf16_supported` answers for the current device only.
        return torch.version.hip is not None or torch.cuda.get_device_capability(device) >= _BF16_CAPABILITY
    if device.type == "mps":
        return bool(torch.backends.mps.is_macos_or_newer(14, 0))
    return bf16_pays(device) or bool(torch.cpu.get_capabilities().get("avx512_bf16", False))


def fp16_pays(device: torch.device) -> bool:
    """Return whether `device` is a GPU with matrix units for float16 (V100, T4, RTX 20 and later)."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= _FP16_CAPABILITY


def bf16_pays(device: torch.device) -> bool:
    """Return whether bfloat16 products are expected to be faster on `device` than float32 products.

    They are faster with AMX, on ARM and with AMD's AVX-512, but slower with Intel's AVX-512 alone (docs/decisions.md).
    On Apple GPUs they are not measured.
    """
    if device.type != "cpu":
        return device.type == "cuda" and has_bf16(device)
    capabilities = torch.cpu.get_capabilities()
    pays = any(capabilities.get(name, False) for name in ("amx_bf16", "bf16"))
    return pays or (bool(capabilities.get("avx512_bf16", False)) and "AuthenticAMD" in _cpu_facts())


def _cpu_facts() -> str:
    """Return Linux's description of the processor; an empty text on other systems."""
    with contextlib.suppress(OSError):
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return ""


def steps_between_reads(device: torch.device) -> int:
    """Return after how many steps a search on `device` reads which sentences have ended.

    A GPU works later than the program, and each reading waits for it. With four, sentences that have ended stay one and
    a half steps too long on average, and find nothing more; a search has about 30 steps.
    """
    return 4 if device.type == "cuda" else 1


def use_threads(count: int) -> None:
    """Compute with `count` CPU threads from now on; 0 keeps torch's own choice, one per core."""
    if count:
        torch.set_num_threads(count)


def keep_freed_memory() -> None:
    """Configure glibc, where present, to keep freed memory of any size for reuse.

    By default it returns large blocks to the system, which zeroes every page of a newly allocated block.
    """
    with contextlib.suppress(OSError, AttributeError):
        for parameter, value in _MALLOPT.items():
            ctypes.CDLL(None).mallopt(parameter, value)
