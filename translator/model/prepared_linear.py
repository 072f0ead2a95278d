"""A linear layer made ready to search: its weight laid out, and quantized (bf16, int8), as products are fastest.

In float32 the weight is laid out transposed, which changes no product. In bf16 and int8 it is packed once into the
layout of the matrix library.
"""

import warnings
from collections.abc import Callable
from typing import Final, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

PreparedPrecision = Literal["float32", "bf16", "int8"]
_LARGEST_INT8: Final = 127


class PreparedLinear(nn.Module):
    """A linear layer for inference only, on a CPU or, but for int8, a GPU.

    Args:
        weight: (out, in).
        bias: (out,) or None.
        precision: of the product; `int8` rounds the weight per output and the input per call.
        keep_type: return what a bf16 product gives as it is, for a layer that takes bf16 next.
    """

    def __init__(
        self, weight: Tensor, bias: Tensor | None, precision: PreparedPrecision, keep_type: bool = False
    ) -> None:
        super().__init__()
        bias = None if bias is None else bias.detach().float().clone()
        make = {"float32": _float32, "bf16": _bf16, "int8": _int8}[precision]
        self._product = make(weight.detach().float(), bias)
        self._keep_type = keep_type

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out) for `x` (..., in), in float32 unless the type is kept."""
        return self.of_rows(x.reshape(-1, x.size(-1))).view(*x.shape[:-1], -1)

    def of_rows(self, x: Tensor) -> Tensor:
        """Return (R, out) for `x` (R, in)."""
        y = self._product(x)
        return y if self._keep_type else y.float()


def _float32(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    transposed = weight.t().contiguous()
    if bias is None:
        return lambda x: torch.mm(x, transposed)
    return lambda x: torch.addmm(bias, x, transposed)


def _bf16(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    narrow, offset = weight.bfloat16(), None if bias is None else bias.bfloat16()
    if weight.is_cuda or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return lambda x: functional.linear(x.bfloat16(), narrow, offset)
    packed = torch.ops.mkldnn._reorder_linear_weight(narrow, None)
    product = torch.ops.mkldnn._linear_pointwise.default

    def multiply(x: Tensor) -> Tensor:
        rows = x.size(0)
        padded = padded_rows(rows)
        if padded == rows:
            whole: Tensor = product(x.bfloat16(), packed, offset, "none", [], "")
            return whole
        # What lies beyond the rows touches none of them.
        filled = x.new_empty((padded, x.size(1)), dtype=torch.bfloat16)
        filled[:rows].copy_(x)
        y: Tensor = product(filled, packed, offset, "none", [], "")
        return y[:rows]

    return multiply


def padded_rows(rows: int) -> int:
    """Return how many rows oneDNN multiplies in place of `rows`.

    For every number of rows it writes a kernel, which takes longer than the product, and rows leave a search one by
    one.
    """
    step = 8 if rows <= 64 else 32 if rows <= 512 else 256
    return -(-rows // step) * step


def _int8(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    scales = weight.abs().amax(dim=1).clamp(min=torch.finfo(torch.float32).tiny) / _LARGEST_INT8  # (out,)
    with warnings.catch_warnings():  # torch means to replace how a quantized tensor is made, but offers nothing yet
        warnings.simplefilter("ignore", UserWarning)
        zeros = torch.zeros(len(weight), dtype=torch.int64)
        rounded = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(rounded, bias)
    product = torch.ops.quantized.linear_dynamic.default
    return lambda x: product(x, packed, True)
