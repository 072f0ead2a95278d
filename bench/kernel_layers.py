"""Position-wise layers: padded or on real tokens only, number formats of a product, and the noise of dropout.

B batch, T length, D model width, F feed-forward width
"""

import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from bench.turns import SpeedComparison

POSITIONS, LENGTH, WIDTH, INNER = 4096, 32, 256, 1024
DROPOUT = 0.1


def linear_comparisons() -> Iterator[SpeedComparison]:
    """Yield a feed-forward sublayer with norm and dropout on (B, T, D) beside one on the real rows of it."""
    block = _feed_forward()
    x = torch.randn(POSITIONS, WIDTH).requires_grad_()
    for padding in (0.04, 0.2, 0.45):
        real = torch.rand(POSITIONS).argsort()[: round(POSITIONS * (1 - padding))].sort().values

        def padded() -> None:
            torch.set_float32_matmul_precision("medium")
            block(x).sum().backward()

        def packed(rows: Tensor = real) -> None:
            torch.set_float32_matmul_precision("medium")
            filled = torch.zeros(POSITIONS, WIDTH).index_copy(0, rows, block(x.index_select(0, rows)))
            torch.autograd.backward(filled.sum())

        def packed_already(count: int = len(real)) -> None:
            torch.set_float32_matmul_precision("medium")
            block(x[:count]).sum().backward()

        yield SpeedComparison(
            f"feed-forward sublayer, {padding:.0%} padding, float32 medium",
            {"padded": padded, "gather, compute, scatter": packed, "packed before and after": packed_already},
        )


def precision_comparisons() -> Iterator[SpeedComparison]:
    """Yield the same sublayer in every number format, and a lone product of the size of each layer."""
    x = torch.randn(POSITIONS, WIDTH).requires_grad_()
    block = _feed_forward()
    half, half_x = _feed_forward().to(torch.bfloat16), x.detach().to(torch.bfloat16).requires_grad_()

    def float32(precision: str) -> None:
        torch.set_float32_matmul_precision(precision)
        block(x).sum().backward()

    def autocast() -> None:
        torch.set_float32_matmul_precision("medium")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = block(x)
        y.sum().backward()

    yield SpeedComparison(
        f"feed-forward sublayer with norm and dropout, {POSITIONS} rows",
        {
            "float32, medium": lambda: float32("medium"),
            "float32, high": lambda: float32("high"),
            "float32, highest": lambda: float32("highest"),
            "bf16 autocast": autocast,
            "bf16 weights and states": lambda: half(half_x).sum().backward(),
        },
    )
    for inputs, outputs in ((WIDTH, WIDTH), (WIDTH, 3 * WIDTH), (WIDTH, INNER), (INNER, WIDTH), (WIDTH, 4096)):
        yield _product(inputs, outputs)


def _product(inputs: int, outputs: int) -> SpeedComparison:
    x, weight = torch.randn(POSITIONS, inputs), torch.randn(outputs, inputs)
    half_x, half_weight = x.to(torch.bfloat16), weight.to(torch.bfloat16)

    def float32(precision: str) -> None:
        torch.set_float32_matmul_precision(precision)
        F.linear(x, weight)

    return SpeedComparison(
        f"one product, {POSITIONS} × {inputs} × {outputs}, forward only",
        {
            "float32, medium": lambda: float32("medium"),
            "float32, highest": lambda: float32("highest"),
            "bf16": lambda: F.linear(half_x, half_weight),
            "bf16, both cast from float32 first": lambda: F.linear(x.to(torch.bfloat16), weight.to(torch.bfloat16)),
        },
    )


def dropout_comparisons() -> Iterator[SpeedComparison]:
    """Yield forward and backward of dropout with the noise drawn in different ways."""
    for width, dtype in ((WIDTH, torch.float32), (INNER, torch.float32), (INNER, torch.bfloat16)):
        x = torch.randn(POSITIONS, width).to(dtype).requires_grad_()
        above = torch.randn(POSITIONS, width).to(dtype)

        def run(kind: str, x: Tensor = x, above: Tensor = above) -> None:
            if kind == "none":
                y = x * 1.0
            elif kind == "functional":
                y = F.dropout(x, DROPOUT)
            elif kind == "native":
                y = torch.native_dropout(x, DROPOUT, True)[0]
            else:
                y = NoiseDropout.apply(x, kind)  # type: ignore[no-untyped-call]
            torch.autograd.backward(y, above)
            x.grad = None

        names = {
            "F.dropout": "functional",
            "native_dropout": "native",
            "bernoulli_ into the states' format": "float",
            "bernoulli_ into bool": "bool",
            "bernoulli_ into int8": "int8",
            "bytes of random int64": "bytes",
            "bytes, applied by where": "where",
            "no noise, one multiplication": "none",
        }
        yield SpeedComparison(
            f"dropout, {POSITIONS} × {width} {str(dtype).removeprefix('torch.')}, forward and backward",
            {name: functools.partial(run, kind) for name, kind in names.items()},
        )


class NoiseDropout(torch.autograd.Function):
    """Dropout that keeps one multiplier for each position, drawn in the way that is asked for."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kind: str) -> Tensor:
        scale = 1.0 / (1.0 - DROPOUT)
        if kind == "float":
            noise = torch.empty_like(x).bernoulli_(1.0 - DROPOUT).mul_(scale)
        elif kind in ("bool", "int8"):
            kept = torch.empty(x.shape, dtype=torch.bool if kind == "bool" else torch.int8).bernoulli_(1.0 - DROPOUT)
            noise = kept.to(x.dtype).mul_(scale)
        else:
            words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
            kept = (words.view(torch.uint8)[: x.numel()] >= round(256 * DROPOUT)).view(x.shape)
            if kind == "where":
                ctx.save_for_backward(kept)
                return torch.where(kept, x * scale, 0.0)
            noise = kept.to(x.dtype).mul_(scale)
        ctx.save_for_backward(noise)
        return x * noise

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, None]:
        (noise,) = ctx.saved_tensors
        if noise.dtype == torch.bool:
            return torch.where(noise, above * (1.0 / (1.0 - DROPOUT)), 0.0), None
        return above * noise, None


def _feed_forward() -> nn.Module:
    return nn.Sequential(
        nn.LayerNorm(WIDTH), nn.Linear(WIDTH, INNER), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(INNER, WIDTH)
    )
