"""Models made ready to search: the weights of their linear layers laid out, and rounded, as products are fastest.

Training wants a weight as it is learned; a search multiplies a few rows at a time with weights that stay. In float32
they are laid out transposed, which changes no product. In bf16 and int8 they are packed once into the layout of the
matrix library, and only the products are rounded: residual sums, norms, attention and scores stay float32.
"""

import copy
import warnings
from collections.abc import Callable
from typing import Any, Final, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from translator.model.feed_forward import FeedForward
from translator.model.transformer import Transformer

PreparedPrecision = Literal["float32", "bf16", "int8"]
_LARGEST_INT8: Final = 127
FEW_ROWS: Final = 32
MANY_ROWS: Final = 512
"""A bf16 product takes a multiple of `FEW_ROWS` rows, or of half of `MANY_ROWS` beyond that: for every number of rows
the matrix library writes a kernel, which takes longer than the product, and rows leave a search one by one."""


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
        y = self._product(x.reshape(-1, x.size(-1))).view(*x.shape[:-1], -1)
        return y if self._keep_type else y.float()


def prepare(model: Transformer, precision: PreparedPrecision = "float32") -> Transformer:
    """Return a copy of `model` that is made to be searched, in evaluation mode; `model` is left as it is.

    The copy has no weights of its linear layers to save or train; change the model, and prepare it anew.

    Args:
        model: on a CPU, or on a GPU.
        precision: of the products; `int8` is of the CPU.
    """
    if model.head_weight.is_cuda and precision == "float32":
        return copy.deepcopy(model).eval()
    memo: dict[int, Any] = {}
    for module in model.modules():
        if isinstance(module, nn.Linear):
            narrow = precision == "bf16" and any(
                feed_forward.inner is module
                for feed_forward in model.modules()
                if isinstance(feed_forward, FeedForward)
            )
            memo[id(module)] = PreparedLinear(module.weight, module.bias, precision, keep_type=narrow)
    prepared = copy.deepcopy(model, memo).eval()
    prepared.prepared_head = PreparedLinear(model.head_weight, None, precision)
    return prepared


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
        multiple = FEW_ROWS if rows <= MANY_ROWS else MANY_ROWS // 2
        narrow_x = functional.pad(x.bfloat16(), (0, 0, 0, -rows % multiple))
        y: Tensor = product(narrow_x, packed, offset, "none", [], "")
        return y[:rows]

    return multiply


def _int8(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    scales = weight.abs().amax(dim=1).clamp(min=torch.finfo(torch.float32).tiny) / _LARGEST_INT8  # (out,)
    with warnings.catch_warnings():  # torch means to replace how a quantized tensor is made, but offers nothing yet
        warnings.simplefilter("ignore", UserWarning)
        zeros = torch.zeros(len(weight), dtype=torch.int64)
        rounded = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(rounded, bias)
    product = torch.ops.quantized.linear_dynamic.default
    return lambda x: product(x, packed, True)
