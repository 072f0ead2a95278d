"""A copy of a trained model for search only: weights transposed for products of few rows, or rounded to bfloat16."""

import copy
from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translator.model.layers import FeedForward
from translator.model.transformer import Transformer

PACKED_OPERATORS = ("_reorder_linear_weight", "_linear_pointwise")
"""Private torch operators that pack a bf16 weight for oneDNN, and multiply with it."""


def prepare(model: Transformer, precision: Literal["float32", "bf16"] = "float32") -> Transformer:
    """Return a copy of `model` in evaluation mode, for search only; its head is untied, so do not save it.

    In float32 the weights are stored transposed, which speeds up products of few rows. In bf16, products with weights
    and the inside of feed-forward sublayers are rounded; residual sums, norms, attention and logits stay float32.
    """
    prepared = copy.deepcopy(model).eval()
    # A transposed or rounded head must not change the embedding that it is tied to.
    prepared.own_head = nn.Linear(1, 1, bias=False, device="meta")
    prepared.own_head.weight = nn.Parameter(model.head_weight.detach())
    for parent in list(prepared.modules()):
        for name, linear in parent.named_children():
            if not isinstance(linear, nn.Linear):
                continue
            if precision == "bf16":
                # The outer projection would round the hidden values anyway.
                narrow = isinstance(parent, FeedForward) and name == "inner"
                setattr(parent, name, RoundedLinear(linear, narrow))
            else:
                linear.weight.data = linear.weight.t().contiguous().t()
    return prepared


class RoundedLinear(nn.Module):
    """A linear layer for inference that rounds weight and input to bf16; output is bf16 if `narrow`, else float32."""

    def __init__(self, linear: nn.Linear, narrow: bool = False) -> None:
        super().__init__()
        self.narrow = narrow
        self.weight = linear.weight.detach().bfloat16()  # (out, in)
        self.bias = None if linear.bias is None else linear.bias.detach().bfloat16()
        self.packed = _packed_product(self.weight, self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out) for `x` (..., in)."""
        if self.packed is None:
            y = F.linear(x.bfloat16(), self.weight, self.bias)
        else:
            y = self.packed(x.flatten(0, -2)).view(*x.shape[:-1], -1)
        return y if self.narrow else y.float()


def _packed_product(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor] | None:
    """Return oneDNN's bf16 product with `weight` (out, in), packed once; None if this torch lacks it.

    With it, a bf16 search takes 0.7 to 0.9 of the time it takes with torch's public product. Some versions lack the
    private operators.
    """
    pack = getattr(torch.ops.mkldnn, PACKED_OPERATORS[0], None)
    product = getattr(torch.ops.mkldnn, PACKED_OPERATORS[1], None)
    if pack is None or product is None:
        return None
    if weight.device.type != "cpu" or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return None
    packed = pack(weight, None)
    multiply_packed = product.default  # skips overload resolution

    def multiply(x: Tensor) -> Tensor:
        # Few distinct numbers of rows, so that oneDNN compiles few kernels.
        rows = len(x)
        step = 8 if rows <= 64 else 32 if rows <= 512 else 256
        if rows % step != 0:
            padded_rows = -(-rows // step) * step
            padded = x.new_empty((padded_rows, x.size(1)), dtype=torch.bfloat16)
            padded[:rows].copy_(x)
            x = padded
        y: Tensor = multiply_packed(x.bfloat16(), packed, bias, "none", [], "")
        return y[:rows]

    return multiply
