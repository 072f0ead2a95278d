"""Where tensors live, how precisely they are computed, and with how many threads."""

import contextlib
import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import torch

from translator.errors import ConfigError

Precision = Literal["float32", "bf16"]
MatmulPrecision = Literal["highest", "high", "medium"]
"""How much float32 matrix products may round inside, as `torch.set_float32_matmul_precision` has it."""
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Numbers of glibc's `mallopt` parameters (malloc.h)."""
_LARGEST: Final = 1 << 30
"""Blocks of up to a gibibyte are kept."""


def choose_device(name: str) -> torch.device:
    """Return the device for `auto`, `cpu`, `cuda` or `cuda:N`.

    Raises:
        ConfigError: that is no such name, or a GPU is asked for and there is none, or not that many.
    """
    if re.fullmatch(r"auto|cpu|cuda(:[0-9]{1,3})?", name) is None:
        raise ConfigError(f"the device is `auto`, `cpu`, `cuda` or `cuda:N`, not `{name}`")
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ConfigError(f"run.device is `{name}`, but torch finds no CUDA GPU here; use run.device=cpu or auto")
        if (device.index or 0) >= torch.cuda.device_count():
            raise ConfigError(f"run.device is `{name}`, but there are only {torch.cuda.device_count()} GPUs (from 0)")
    return device


@dataclass(frozen=True)
class Arithmetic:
    """How the forward pass is computed on a device."""

    device: torch.device
    precision: Precision

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        """Return the context in which the forward pass runs; weights stay float32."""
        if self.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)


def has_bf16(device: torch.device) -> bool:
    """Return whether `device` computes products of bfloat16 by itself, not by way of float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("amx_bf16", "avx512_bf16", "bf16"))


def bf16_pays(device: torch.device) -> bool:
    """Return whether products of bfloat16 are taken to be faster on `device` than those of float32.

    On an x86 processor those of AMX are; those of AVX-512 alone take longer (docs/decisions.md). ARM's are taken on
    trust.
    """
    if device.type == "cuda":
        return has_bf16(device)
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("amx_bf16", "bf16"))


def choose_rounding(device: torch.device, wanted: MatmulPrecision | Literal["auto"]) -> MatmulPrecision:
    """Return how much float32 products on `device` may round inside: as `wanted`, or if that is `auto` as pays."""
    if wanted != "auto":
        return wanted
    return "medium" if device.type != "cpu" or bf16_pays(device) else "highest"


def keep_freed_memory() -> bool:
    """Tell the C library to keep freed memory of any size for the next step; return whether it can.

    By default glibc gives large blocks back to the system, and a training step that takes them anew has every page of
    them zeroed again. Only where the C library is glibc.
    """
    try:
        tune = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(tune(_MMAP_THRESHOLD, _LARGEST) and tune(_TRIM_THRESHOLD, 2**31 - 1))


def use_threads(count: int) -> None:
    """Compute with `count` CPU threads; 0 keeps torch's own choice, one per core."""
    if count:
        torch.set_num_threads(count)


@contextlib.contextmanager
def matmul_precision(precision: MatmulPrecision) -> Iterator[None]:
    """Let float32 matrix products round inside as `precision` says while the block runs."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
