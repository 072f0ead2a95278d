"""A copy of a trained model for search only: weights transposed for products of few rows, or rounded to bfloat16."""

import copy
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from translator.core.layers import FeedForward
from translator.core.transformer import Transformer


def search_copy(model: Transformer, precision: Literal["float32", "bf16"] = "float32") -> Transformer:
    """Return a copy of `model` in evaluation mode, for search only; its head is untied, so do not save it.

    In float32 the weights are stored transposed, which speeds up products of few rows. In bf16, products with weights
    and the inside of feed-forward sublayers are rounded; residual sums, norms, attention and logits stay float32.
    """
    prepared = copy.deepcopy(model).eval()

    # A transposed or rounded head must not change the embedding that it is tied to: give it a layer of its own. The
    # layer is made without memory ("meta"), because its weight is replaced.
    prepared.own_head = nn.Linear(1, 1, bias=False, device="meta")
    prepared.own_head.weight = nn.Parameter(model.head_weight.detach())

    # Replace or transpose every linear layer.
    for parent in list(prepared.modules()):
        for name, child in parent.named_children():
            if not isinstance(child, nn.Linear):
                continue
            if precision == "bf16":
                # The inner projection of a feed-forward may return bf16, because the outer one rounds its input anyway.
                is_inner = isinstance(parent, FeedForward) and name == "inner"
                setattr(parent, name, RoundedLinear(child, narrow=is_inner))
            else:
                child.weight.data = child.weight.t().contiguous().t()  # the same shape, columns contiguous
    return prepared


class RoundedLinear(nn.Module):
    """A linear layer for inference that rounds weight and input to bf16; output is bf16 if `narrow`, else float32."""

    def __init__(self, linear: nn.Linear, narrow: bool = False) -> None:
        super().__init__()
        self.narrow = narrow
        self.weight = linear.weight.detach().bfloat16()  # (out, in)
        self.bias = None if linear.bias is None else linear.bias.detach().bfloat16()

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out) for `x` (..., in)."""
        y = F.linear(x.bfloat16(), self.weight, self.bias)
        return y if self.narrow else y.float()
