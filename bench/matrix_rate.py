"""How fast a machine multiplies matrices, so that training speed can be told as a share of it."""

import time

import torch

_LEAST_SECONDS = 0.2


def matrix_rate(dtype: torch.dtype, device: torch.device, size: int = 2048) -> float:
    """Return the floating-point operations a second of products of `size` × `size` matrices, warmed up.

    float32 products are computed at full precision.
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    product = left @ right
    finish(device)
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < _LEAST_SECONDS:
        for _ in range(2 if device.type == "cpu" else 50):
            torch.mm(left, right, out=product)
            done += 1
        finish(device)
    seconds = time.perf_counter() - began
    torch.set_float32_matmul_precision(before)
    return 2 * done * float(size) ** 3 / seconds


def finish(device: torch.device) -> None:
    """Wait until a GPU has done what was asked of it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
