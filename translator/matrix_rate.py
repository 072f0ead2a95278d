"""What a machine can do in matrix products: how many operations a second, and whether bf16 ones come out right."""

import contextlib
import time
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from translator.device import MatmulPrecision, Precision, matmul_precision

_CPU_SHAPE: Final = (1024, 1024, 1024)
_GPU_SHAPE: Final = (8192, 4096, 4096)
"""Rows, inner width, columns: large enough that starting the product costs nothing beside it."""
_SECONDS: Final = 0.25
_FEWEST: Final = 3
"""Products that are timed at least, on however slow a machine."""
_ROUNDING: Final = 2.0**-8
"""Half a unit in the last place of bf16, relative: it has eight significant bits."""
_SUMMING: Final = 2.0**-12
"""Error allowed on the way, relative to the sum of all terms without their signs; float32 sums stay far below it."""
_CHECKED_SHAPES: Final = ((37, 129, 65), (256, 512, 384), (1, 1024, 33))


@torch.no_grad()
def matrix_rate(device: torch.device, precision: Precision, rounding: MatmulPrecision | None = None) -> float:
    """Return the floating point operations a second of a large matrix product, the best of several.

    It takes about a third of a second on a CPU, with as many threads as torch is set to use.

    Args:
        device: where to compute.
        precision: of what is multiplied.
        rounding: what float32 products may round inside; None leaves torch's present setting.
    """
    rows, inner, columns = _GPU_SHAPE if device.type == "cuda" else _CPU_SHAPE
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    # Not zeros: processors draw less power on them, and run faster than they would on anything real.
    left = torch.linspace(-1.0, 1.0, rows * inner, device=device).view(rows, inner).to(dtype)
    weight = torch.linspace(1.0, -1.0, inner * columns, device=device).view(columns, inner).to(dtype)
    with matmul_precision(rounding) if rounding is not None else contextlib.nullcontext():
        _timed(left, weight)  # the first product sets things up
        best, spent, taken = float("inf"), 0.0, 0
        while taken < _FEWEST or spent < _SECONDS:
            seconds = _timed(left, weight)
            best, spent, taken = min(best, seconds), spent + seconds, taken + 1
    return 2.0 * rows * inner * columns / best


def _timed(left: Tensor, weight: Tensor) -> float:
    """Return the seconds that one product takes."""
    if left.device.type == "cuda":
        torch.cuda.synchronize(left.device)
    began = time.perf_counter()
    _product(left, weight)
    if left.device.type == "cuda":
        torch.cuda.synchronize(left.device)
    return max(1e-9, time.perf_counter() - began)


def _product(left: Tensor, weight: Tensor) -> Tensor:
    """Return left · weightᵀ, as a linear layer computes it."""
    return F.linear(left, weight)


@torch.no_grad()
def bf16_is_right(device: torch.device) -> bool:
    """Return whether bf16 products on `device` equal exact ones but for the rounding of their result.

    Plain and transposed operands are tried, as the forward and the backward pass of a linear layer have them. A machine
    that cannot compute them at all gives False.
    """
    try:
        return all(_is_right(*shape, device) for shape in _CHECKED_SHAPES)
    # An AssertionError is what torch raises for a device that it was built without.
    except (RuntimeError, AssertionError):
        return False


def _is_right(rows: int, inner: int, columns: int, device: torch.device) -> bool:
    """Return whether products of random matrices of this shape are right."""
    generator = torch.Generator().manual_seed(rows)
    left = torch.randn(rows, inner, generator=generator).bfloat16()
    weight = torch.randn(columns, inner, generator=generator).bfloat16()
    there, weight_there = left.to(device), weight.to(device)
    found = (
        _product(there, weight_there),
        _product(there, weight_there.t().contiguous().t()),
        _product(there.t().contiguous().t(), weight_there.t().contiguous().t()),
    )
    exact = left.double() @ weight.double().t()
    allowed = _ROUNDING * exact.abs() + _SUMMING * (left.double().abs() @ weight.double().abs().t())
    return all(bool(((product.cpu().double() - exact).abs() <= allowed).all()) for product in found)
