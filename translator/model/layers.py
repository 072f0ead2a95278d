"""Layers that treat each position by itself: projections, dropout, feed-forward, residual sums; and their layout.

In training on a CPU these layers work on (N, D), the real tokens of all sentences, and not on (B, T, D) with its
padding; only attention unpacks. So does the loss.

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
NOISE_VALUES: Final = 1 << 16  # that the noise of dropout takes: 16 bits for each entry
PACKED_OPERATORS = ("_reorder_linear_weight", "_linear_pointwise")
"""Private operators of torch that pack a bf16 weight for oneDNN, and multiply with it."""
MULTIPLE: Final = 128
"""Packed tokens are rounded up to it: oneDNN compiles a kernel for every shape, which takes longer than the product."""


class FusedLinear(nn.Linear):
    """Several projections of one input as one product; its weight holds `blocks` matrices, one below the other."""

    def __init__(self, width: int, block_width: int, blocks: int) -> None:
        super().__init__(width, blocks * block_width)
        self.blocks = blocks


class RoundedLinear(nn.Module):
    """A linear layer for inference that rounds weight and input to bf16; `narrow` returns bf16, else float32."""

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
    """Return oneDNN's bf16 product with `weight` (out, in), packed once; None where this torch does not offer it.

    A bf16 search takes 0.7 to 0.9 of the time of one with torch's public product. A version may lack the private names.
    """
    pack, product = (getattr(torch.ops.mkldnn, name, None) for name in PACKED_OPERATORS)
    if pack is None or product is None or weight.device.type != "cpu" or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return None
    packed, product = pack(weight, None), product.default  # a call without a choice of overloads

    def multiply(x: Tensor) -> Tensor:
        # Filled up to few different numbers of rows, so that few kernels are compiled.
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

    torch's CPU kernel draws one random number for each entry; this one draws 64 bits for four entries. The scale is
    rounded to the type of the entries, and the probability adjusted to it in steps of 2⁻¹⁶, so that the mean is kept:
    in bfloat16 a probability of 0.1 becomes 0.0986. A GPU uses torch's kernel.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` with some of its entries dropped."""
        if not self.training or not self.probability:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.probability)
        return x * _dropout_factors(x, self.probability)


def _dropout_factors(like: Tensor, probability: float) -> Tensor:
    """Return factors shaped and typed as `like`: 0 with `probability`, else what keeps the mean."""
    # Rounded to the type by arithmetic that torch.compile can trace: 1 / 0.9 becomes 1.109375 in bfloat16.
    exact = 1.0 / (1.0 - probability)
    unit = torch.finfo(like.dtype).eps * 2.0 ** math.floor(math.log2(exact))
    scale = round(exact / unit) * unit
    dropped = min(round((1.0 - 1.0 / scale) * NOISE_VALUES), NOISE_VALUES - 1)  # how many values drop an entry
    count = like.numel()
    words = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    noise = words.view(torch.int16)[:count].view(like.shape)
    return (noise >= dropped - NOISE_VALUES // 2).to(like.dtype).mul_(scale)


class FeedForward(nn.Module):
    """The position-wise feed-forward sublayer (Vaswani et al. 2017 §3.3): D → F, a nonlinearity, F → D.

    The activation is `relu` as in the paper, `gelu` (Hendrycks and Gimpel 2016), or `swiglu` (Shazeer 2020), which
    multiplies the widened vector by a gate; one fused projection of width 2F computes both. Dropout follows it.
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
    """Adds the output of a sublayer on `x` to `x` (Vaswani et al. 2017 §3.1, §5.4).

    post:  LayerNorm(x + dropout(sublayer(x)))     the paper's order
    pre:   x + dropout(sublayer(LayerNorm(x)))     Xiong et al. 2020; the stack ends in a LayerNorm of its own
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
    """Return the layer that ends a stack: pre-norm leaves the residual sum unnormalised, post-norm does not."""
    return nn.LayerNorm(d_model) if order == "pre" else nn.Identity()


class Layout:
    """How the tokens of one side lie in memory; this one is (B, T, ...) throughout."""

    def pack(self, x: Tensor) -> Tensor:
        """Return what position-wise layers work on, for `x` (B, T, ...)."""
        return x

    def unpack(self, x: Tensor) -> Tensor:
        """Return (B, T, ...) for an output of position-wise layers."""
        return x

    def split_heads(self, x: Tensor, heads: int) -> Tensor:
        """Return (B, H, T, K) for an output of position-wise layers; head h has columns h * K to (h + 1) * K."""
        y = self.unpack(x)
        return y.view(*y.shape[:2], heads, y.size(2) // heads).transpose(1, 2)

    def merge_heads(self, context: Tensor) -> Tensor:
        """Return what position-wise layers work on, for `context` (B, H, T, K)."""
        return self.pack(context.transpose(1, 2).flatten(2))


PADDED: Final = Layout()  # the layout of everything but training on a CPU


class Packed(Layout):
    """Only the real tokens of `tokens` (B, T) int64, which has `pad` where there is none.

    Behind them stand 1 to `MULTIPLE` rows of zeros, which must reach no loss; PAD is unpacked from the first of them.
    """

    def __init__(self, tokens: Tensor, pad: int) -> None:
        self.shape = tokens.shape
        real = (tokens != pad).flatten()
        places = real.nonzero().squeeze(1)  # where each token stands in the flat (B · T,)
        self.count = len(places)  # real tokens
        rounding = MULTIPLE - self.count % MULTIPLE
        self.places = torch.cat((places, places.new_zeros(rounding)))  # (N,)
        self.rows = torch.where(real, real.cumsum(0) - 1, self.count)  # (B · T,): which row each position reads
        self.sentences = self.places // tokens.size(1)  # (N,) the sentence of each row

    def pack(self, x: Tensor) -> Tensor:
        """Return (N, ...) for `x` (B, T, ...): its real tokens, then rows of zeros."""
        packed: Tensor = _Gather.apply(x.flatten(0, 1), self.places, self.rows, self.count, True)  # type: ignore[no-untyped-call]
        return packed

    def unpack(self, x: Tensor) -> Tensor:
        """Return (B, T, ...) for `x` (N, ...); what stands at PAD means nothing, and a mask must hide it."""
        flat: Tensor = _Gather.apply(x, self.rows, self.places, self.count, False)  # type: ignore[no-untyped-call]
        return flat.view(*self.shape, *flat.shape[1:])


class _Gather(torch.autograd.Function):
    """Gathers rows; the gradient is a gather as well, since each real token stands in one place on either side.

    PAD and the rows of zeros stand for each other, many to many, and neither reaches a loss. So their gradient is zero,
    and is set to zero where it would be read from a real token.
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
