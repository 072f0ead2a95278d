"""The operations per second that a device reaches in a large matrix product."""

import time
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from translator.speed.device import Precision

_CPU_SHAPE: Final = (1024, 1024, 1024)
_GPU_SHAPE: Final = (8192, 4096, 4096)
_TYPES: Final = {"float32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@torch.no_grad()
def matrix_rate(
    device: torch.device,
    precision: Precision,
    rounding: str | None = None,
) -> float:
    """Return the floating-point operations per second of a large matrix product, the best of several.

    Takes about a third of a second on a CPU, with torch's number of threads. `precision` is that of the factors;
    `rounding` is the internal precision of float32 products, None for torch's current setting.
    """
    rows, inner, columns = _GPU_SHAPE if device.type == "cuda" else _CPU_SHAPE
    dtype = _TYPES[precision]
    # Not zeros or regular numbers: they need less power, so that processors would run faster than on real data.
    x = torch.randn(rows, inner, device=device).to(dtype)
    weight = torch.randn(inner, columns, device=device).t().to(dtype)
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
