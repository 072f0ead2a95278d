"""Position-wise layers: projections, dropout, feed-forward, residual sums; and their layout.

In training on a CPU, these layers and the loss work on (N, D), the real tokens of all sentences, instead of the padded
(B, T, D). Only attention unpacks.

B batch, T length, D model width, F feed-forward width, H heads, K head width, N packed tokens
"""

import math
from collections.abc import Callable
from typing import Any, Final, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Activation = Literal["relu", "gelu", "swiglu"]
NormOrder = Literal["pre", "post"]
NOISE_VALUES: Final = 1 << 16  # number of values of dropout noise: 16 bits per entry
PACKED_OPERATORS = ("_reorder_linear_weight", "_linear_pointwise")
"""Private torch operators that pack a bf16 weight for oneDNN, and multiply with it."""
MULTIPLE: Final = 128
"""The number of packed tokens is a multiple of it: oneDNN compiles a kernel per shape, which is slow."""


class FusedLinear(nn.Linear):
    """Several projections of one input as one product; its weight stacks `blocks` matrices vertically."""

    def __init__(self, width: int, block_width: int, blocks: int) -> None:
        super().__init__(width, blocks * block_width)
        self.blocks = blocks


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
    pack, product = (getattr(torch.ops.mkldnn, name, None) for name in PACKED_OPERATORS)
    if pack is None or product is None or weight.device.type != "cpu" or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return None
    packed, product = pack(weight, None), product.default  # skips overload resolution

    def multiply(x: Tensor) -> Tensor:
        # Padded to few distinct numbers of rows, so that few kernels are compiled.
        rows = len(x)
        step = 8 if rows <= 64 else 32 if rows <= 512 else 256
        if rows % step:
            filled = x.new_empty((-(-rows // step) * step, x.size(1)), dtype=torch.bfloat16)
            filled[:rows].copy_(x)
            x = filled
        y: Tensor = product(x.bfloat16(), packed, bias, "none", [], "")
        return y[:rows]

    return multiply


class Dropout(nn.Module):
    """In training, sets entries to zero with `probability` and scales the others up (Srivastava et al. 2014).

    torch's CPU kernel draws one random number per entry; this one draws 64 bits for four entries. The scale is rounded
    to the type of the entries. The probability is adjusted to it in steps of 2⁻¹⁶, so that the mean is preserved: in
    bfloat16, 0.1 becomes 0.0986. A GPU uses torch's kernel.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` with dropout in training, else `x` itself."""
        if not self.training or not self.probability:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.probability)
        return x * _dropout_factors(x, self.probability)


def _dropout_factors(like: Tensor, probability: float) -> Tensor:
    """Return factors with shape and type of `like`: 0 with `probability`, else the scale that preserves the mean."""
    # Rounding to the type by arithmetic that torch.compile can trace: 1 / 0.9 becomes 1.109375 in bfloat16.
    exact = 1.0 / (1.0 - probability)
    unit = torch.finfo(like.dtype).eps * 2.0 ** math.floor(math.log2(exact))
    scale = round(exact / unit) * unit
    dropped = min(round((1.0 - 1.0 / scale) * NOISE_VALUES), NOISE_VALUES - 1)  # noise values that drop an entry
    count = like.numel()
    words = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    noise = words.view(torch.int16)[:count].view(like.shape)
    return (noise >= dropped - NOISE_VALUES // 2).to(like.dtype).mul_(scale)


class FeedForward(nn.Module):
    """The position-wise feed-forward sublayer (Vaswani et al. 2017 §3.3): D → F, activation, F → D.

    The activation is `relu` as in the paper, `gelu` (Hendrycks and Gimpel 2016), or `swiglu` (Shazeer 2020), which
    multiplies the widened vector by a gate; one fused projection of width 2F computes both. Then dropout is applied.
    """

    def __init__(self, d_model: int, width: int, activation: Activation, dropout: float = 0.0) -> None:
        super().__init__()
        self.activation = activation
        self.inner = FusedLinear(d_model, width, blocks=2 if activation == "swiglu" else 1)
        self.dropout = Dropout(dropout)
        self.outer = nn.Linear(width, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., D) for `x` (..., D)."""
        hidden = self.inner(x)  # (..., F), or (..., 2F) with a gate
        if self.activation == "swiglu":
            gate, value = hidden.chunk(2, dim=-1)
            hidden = F.silu(gate) * value
        else:
            hidden = F.gelu(hidden) if self.activation == "gelu" else F.relu(hidden)
        y: Tensor = self.outer(self.dropout(hidden))
        return y


class Residual(nn.Module):
    """A residual connection around a sublayer, with LayerNorm and dropout (Vaswani et al. 2017 §3.1, §5.4).

    post:  LayerNorm(x + dropout(sublayer(x)))     the paper's order
    pre:   x + dropout(sublayer(LayerNorm(x)))     Xiong et al. 2020; the stack ends in a final LayerNorm
    """

    def __init__(self, d_model: int, dropout: float, order: NormOrder) -> None:
        super().__init__()
        self.order = order
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return (B, T, D) for `x` (B, T, D)."""
        if self.order == "pre":
            return x + self.dropout(sublayer(self.norm(x)))  # type: ignore[no-any-return]
        return self.norm(x + self.dropout(sublayer(x)))  # type: ignore[no-any-return]


def final_norm(d_model: int, order: NormOrder) -> nn.Module:
    """Return the last layer of a stack: LayerNorm for pre-norm, whose residual sum is not normalized, else identity."""
    return nn.LayerNorm(d_model) if order == "pre" else nn.Identity()


class Layout:
    """The memory layout of the tokens of one side; this base class uses (B, T, ...)."""

    def pack(self, x: Tensor) -> Tensor:
        """Return `x` (B, T, ...) in the layout of position-wise layers."""
        return x

    def unpack(self, x: Tensor) -> Tensor:
        """Return an output of position-wise layers as (B, T, ...)."""
        return x

    def split_heads(self, x: Tensor, heads: int) -> Tensor:
        """Return an output of position-wise layers as (B, H, T, K); head h has columns h * K to (h + 1) * K."""
        y = self.unpack(x)
        return y.view(*y.shape[:2], heads, y.size(2) // heads).transpose(1, 2)

    def merge_heads(self, context: Tensor) -> Tensor:
        """Return `context` (B, H, T, K) in the layout of position-wise layers."""
        return self.pack(context.transpose(1, 2).flatten(2))


PADDED: Final = Layout()  # the layout everywhere except in training on a CPU


class Packed(Layout):
    """A layout of only the real tokens of `tokens` (B, T) int64, which is padded with `pad`.

    They are followed by 1 to `MULTIPLE` rows of zeros, which must not affect the loss; at PAD, the first one is read.
    """

    def __init__(self, tokens: Tensor, pad: int) -> None:
        self.shape = tokens.shape
        real = (tokens != pad).flatten()
        places = real.nonzero().squeeze(1)  # index of each token in the flat (B · T,)
        self.count = len(places)  # real tokens
        rounding = MULTIPLE - self.count % MULTIPLE
        self.places = torch.cat((places, places.new_zeros(rounding)))  # (N,)
        self.rows = torch.where(real, real.cumsum(0) - 1, self.count)  # (B · T,): the row that each position reads
        self.sentences = self.places // tokens.size(1)  # (N,) the sentence of each row

    def pack(self, x: Tensor) -> Tensor:
        """Return (N, ...) for `x` (B, T, ...): its real tokens, then rows of zeros."""
        packed: Tensor = _Gather.apply(x.flatten(0, 1), self.places, self.rows, self.count, True)  # type: ignore[no-untyped-call]
        return packed

    def unpack(self, x: Tensor) -> Tensor:
        """Return (B, T, ...) for `x` (N, ...); values at PAD are meaningless and must be masked."""
        flat: Tensor = _Gather.apply(x, self.rows, self.places, self.count, False)  # type: ignore[no-untyped-call]
        return flat.view(*self.shape, *flat.shape[1:])


class _Gather(torch.autograd.Function):
    """Gathers rows; its gradient is also a gather, since each real token has one place in either layout.

    PAD and the rows of zeros map to each other, many to many, and do not affect the loss. So their gradient is
    zero; where the gather would read it from a real token, it is set to zero.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, there: Tensor, back: Tensor, count: int, packing: bool) -> Tensor:
        ctx.save_for_backward(back)
        ctx.count, ctx.packing = count, packing
        y = x.index_select(0, there)
        if packing:
            y[count:] = 0.0
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        (back,) = ctx.saved_tensors
        x = gradient.index_select(0, back)
        if not ctx.packing:
            x[ctx.count :] = 0.0
        return x, None, None, None, None
