"""Packing: only the real tokens of a batch, one after another, wherever positions do not mix.

Linear layers, norms, dropout and the loss treat each position by itself, so in training they work on (N, D), the real
tokens of all sentences, and not on (B, T, D) with its padding; attention alone needs the sentences side by side, and
unpacks what it needs. N is rounded up to a multiple of `MULTIPLE` by rows of zeros, so that few different shapes
occur: a CPU's matrix library writes and keeps a kernel for every shape that it meets, which for bfloat16 takes longer
than the product itself. The rounding rows must reach no loss; PAD is unpacked from the first of them.

B batch, T length, N packed tokens
"""

from typing import Any, Final

import torch
from torch import Tensor

MULTIPLE: Final = 128
"""Rows: small beside a batch, so that rounding costs little, and large enough that shapes come again and again."""


class Layout:
    """How the tokens of one side lie in memory: here as they come, (B, T, ...), so that both ways change nothing."""

    def pack(self, x: Tensor) -> Tensor:
        """Return what position-wise layers work on, for `x` (B, T, ...)."""
        return x

    def unpack(self, x: Tensor) -> Tensor:
        """Return (B, T, ...) for what position-wise layers gave."""
        return x


PADDED: Final = Layout()
"""The layout of everything but training on a CPU."""


class Packed(Layout):
    """Real tokens only.

    Args:
        tokens: (B, T) int64 ids, PAD where there is no token.
        pad: the id of PAD.
    """

    def __init__(self, tokens: Tensor, pad: int) -> None:
        self.shape = tokens.shape
        real = (tokens != pad).flatten()
        places = real.nonzero().squeeze(1)  # (N before rounding,) where each token stands in the flat (B · T,)
        self.count = len(places)
        """Real tokens."""
        rounding = MULTIPLE - self.count % MULTIPLE  # at least one, for PAD to read
        self.places = torch.cat((places, places.new_zeros(rounding)))  # (N,)
        self.rows = torch.where(real, real.cumsum(0) - 1, self.count)  # (B · T,): which row each position reads
        self.sentences = self.places // tokens.size(1)
        """(N,) the sentence of each row."""

    def pack(self, x: Tensor) -> Tensor:
        """Return (N, ...) for `x` (B, T, ...): its real tokens, then rows of zeros."""
        packed: Tensor = _Gather.apply(x.flatten(0, 1), self.places, self.rows, self.count, True)  # type: ignore[no-untyped-call]
        return packed

    def unpack(self, x: Tensor) -> Tensor:
        """Return (B, T, ...) for `x` (N, ...); what stands at PAD means nothing, and a mask must hide it."""
        flat: Tensor = _Gather.apply(x, self.rows, self.places, self.count, False)  # type: ignore[no-untyped-call]
        return flat.view(*self.shape, *flat.shape[1:])


class _Gather(torch.autograd.Function):
    """Picks rows; the gradient is picked as well, since each real token stands in one place on either side.

    PAD and the rounding rows stand for each other, many to many. That is right because neither reaches a loss, masks
    and labels see to it, so that their gradient is zero; where it would be picked from a real token, it is set to zero.
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
