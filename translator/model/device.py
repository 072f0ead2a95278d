"""Devices: selection, precision, number of threads, and measured speed."""

import contextlib
import ctypes
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from translator.config.keys import DEVICE, DEVICE_NAMES
from translator.errors import ConfigError, RunError
from translator.model.gpu_support import gpu_count, gpu_problem, usable_gpus

Precision = Literal["float32", "bf16", "fp16"]
_TYPES: Final = {"float32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
MatmulPrecision = Literal["highest", "high", "medium"]
"""Internal precision of float32 matrix products, as in `torch.set_float32_matmul_precision`."""

_FP16_CAPABILITY: Final = (7, 0)  # first compute capability with matrix units: V100; T4 and RTX 20 have 7.5
_BF16_CAPABILITY: Final = (8, 0)  # first with matrix units for bfloat16: A100; RTX 30 has 8.6
_NO_GPU_MEMORY: Final = re.compile("CUBLAS_STATUS_ALLOC_FAILED|CUDA error: out of memory|MPS backend out of memory")
_MALLOPT: Final = {-3: 1 << 30, -1: 2**31 - 1}  # glibc's M_MMAP_THRESHOLD and M_TRIM_THRESHOLD (malloc.h)
_CPU_SHAPE: Final = (1024, 1024, 1024)
_GPU_SHAPE: Final = (8192, 4096, 4096)
"""Rows, inner width and columns of the timed product: large, so that its launch overhead is negligible."""


def choose_device(name: str) -> torch.device:
    """Return the device called `name`, for `auto` the fastest that torch can use; a GPU always has its number.

    Raises ConfigError: the device is unavailable, or this torch cannot compute on it.
    """
    if re.fullmatch(DEVICE, name) is None:
        raise ConfigError(f"the device is {DEVICE_NAMES}, not `{name}`")
    if name == "auto":
        gpus = usable_gpus()
        if gpus:
            return torch.device("cuda", gpus[0])
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")

    # A device that the user names must exist.
    device = torch.device(name)
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ConfigError("run.device is `mps`, but torch finds no Apple GPU here; use run.device=cpu or auto")
    if device.type == "cuda":
        return _choose_gpu(name, device.index)
    return device


def _choose_gpu(name: str, number: int | None) -> torch.device:
    """Return the GPU with this number, or the first usable one for None; raise ConfigError if torch cannot use it."""
    count = gpu_count()
    if number is not None and 0 < count <= number:
        raise ConfigError(f"run.device is `{name}`, but there are only {count} GPUs (from 0)")
    if number is None:
        number = next(iter(usable_gpus()), 0)
    problem = gpu_problem(number)
    if problem is not None:
        raise ConfigError(f"run.device is `{name}`, but {problem}; or use run.device=cpu")
    if count == 0:
        raise ConfigError(f"run.device is `{name}`, but torch finds no CUDA GPU here; use run.device=cpu or auto")
    # Torch's functions for the current device, the random state and streams need the number.
    return torch.device("cuda", number)


@dataclass(frozen=True)
class Arithmetic:
    """Device and precision of the forward pass."""

    device: torch.device
    precision: Precision

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        """Return the autocast context for the forward pass; weights stay float32."""
        if self.precision == "float32":
            return contextlib.nullcontext()
        # Without the cache of rounded weights: each is used once, and a CUDA graph must not hold it.
        return torch.autocast(self.device.type, dtype=_TYPES[self.precision], cache_enabled=False)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether torch reports with `error` that memory of a GPU ran out."""
    # Only torch's own allocator for CUDA has a type for it; cuBLAS, CUDA itself and Apple's GPUs say it in words.
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and _NO_GPU_MEMORY.search(str(error)) is not None


@contextlib.contextmanager
def model_must_fit(remedy: str) -> Iterator[None]:
    """Turn a lack of GPU memory in the block, which loads a model, into a RunError that ends in `remedy`."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        problem = "the model does not fit into the free memory of the GPU"
        raise RunError(f"{problem}; stop other programs that use this GPU, or {remedy}") from error


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


def widest_float(device: torch.device) -> torch.dtype:
    """Return float64, or float32 on Apple GPUs, which have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def choose_rounding(device: torch.device, setting: MatmulPrecision | Literal["auto"]) -> MatmulPrecision:
    """Return the internal precision of float32 products on `device`: `setting`, or the fastest for `auto`."""
    if setting != "auto":
        return setting
    if device.type != "cpu" or bf16_pays(device):
        return "medium"
    return "highest"


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


@torch.no_grad()
def matrix_rate(
    device: torch.device,
    precision: Precision,
    rounding: MatmulPrecision | None = None,
) -> float:
    """Return the floating-point operations per second of a large matrix product, the best of several.

    Takes about a third of a second on a CPU, with torch's number of threads. `precision` is that of the factors;
    `rounding` is the internal precision of float32 products, None for torch's current setting.
    """
    rows, inner, columns = _GPU_SHAPE if device.type == "cuda" else _CPU_SHAPE
    dtype = _TYPES[precision]
    # Not zeros: they need less power, so that processors would run faster than on real data.
    x = torch.linspace(-1.0, 1.0, rows * inner, device=device)
    weight = torch.linspace(1.0, -1.0, inner * columns, device=device)
    x = x.view(rows, inner).to(dtype)
    weight = weight.view(columns, inner).to(dtype)
    previous_rounding = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(rounding or previous_rounding)
    try:
        # The first product includes initialization.
        _seconds_of_product(x, weight)
        seconds: list[float] = []
        while len(seconds) < 3 or sum(seconds) < 0.25:
            seconds.append(_seconds_of_product(x, weight))
    finally:
        torch.set_float32_matmul_precision(previous_rounding)
    operations = 2.0 * rows * inner * columns
    return operations / min(seconds)


def _seconds_of_product(x: Tensor, weight: Tensor) -> float:
    _wait_for(x.device)
    began = time.perf_counter()
    F.linear(x, weight)
    _wait_for(x.device)
    return max(1e-9, time.perf_counter() - began)


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


_ACTIVE_PRECISIONS: Final[list[MatmulPrecision]] = []
"""torch's own setting, then those of the active `matmul_precision` blocks of all threads, oldest first."""
_PRECISIONS_LOCK: Final = threading.Lock()


@contextlib.contextmanager
def matmul_precision(precision: MatmulPrecision) -> Iterator[None]:
    """Set the internal precision of float32 matrix products inside the block, and restore it afterwards.

    torch has one setting per process. Blocks of several threads may overlap: the latest block takes precedence. The
    setting from before the first block is restored when the last block ends.
    """
    with _PRECISIONS_LOCK:
        if not _ACTIVE_PRECISIONS:
            _ACTIVE_PRECISIONS.append(torch.get_float32_matmul_precision())  # type: ignore[arg-type]  # typed as str
        _ACTIVE_PRECISIONS.append(precision)
        torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        with _PRECISIONS_LOCK:
            del _ACTIVE_PRECISIONS[_ACTIVE_PRECISIONS.index(precision, 1)]
            torch.set_float32_matmul_precision(_ACTIVE_PRECISIONS[-1])
            if len(_ACTIVE_PRECISIONS) == 1:
                _ACTIVE_PRECISIONS.clear()
