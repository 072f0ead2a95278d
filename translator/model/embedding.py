"""Token embeddings and position encodings: sinusoidal, learned or rotary.

B batch, T length, D model width, K head width, P maximum number of positions
"""

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from translator.config import ModelConfig
from translator.errors import InputError
from translator.model.layers import Dropout
from translator.special_tokens import PAD

Positions = Literal["sinusoidal", "learned", "rotary"]


def sinusoidal_positions(length: int, d_model: int) -> Tensor:
    """Return the (length, D) table of Vaswani et al. 2017 §3.5: sines in even columns, cosines in odd ones.

    The wavelength of column pair i is 2π · 10000^(2i / D); D must be even.

    >>> sinusoidal_positions(3, 4)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)  # (length, 1)
    frequency = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10_000.0) / d_model))  # (D/2,)
    angle = position * frequency  # (length, D/2)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()  # (length, D)


class PositionEncoding(nn.Module):
    """Adds to each vector that of its position, fixed or learned; with `rotary`, attention encodes positions."""

    table: Tensor | None  # (P, D)

    def __init__(self, d_model: int, max_positions: int, kind: Positions) -> None:
        super().__init__()
        self.max_positions = max_positions
        if kind == "learned":
            self.table = nn.Parameter(torch.empty(max_positions, d_model))
        else:
            table = sinusoidal_positions(max_positions, d_model) if kind == "sinusoidal" else None
            self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Return `x` (B, T, D) plus the vectors of positions from `start`; raise InputError beyond `max_positions`."""
        end = start + x.size(1)
        if end > self.max_positions:
            raise InputError(
                f"a sequence of {end} tokens is longer than the {self.max_positions} positions of this model; "
                "split the sentence, or train with a larger model.max_positions"
            )
        return x if self.table is None else x + self.table[start:end]


class Embedding(nn.Module):
    """Looks tokens up, scales them by √D, adds positions, applies dropout (Vaswani et al. 2017 §3.4, §3.5, §5.4)."""

    def __init__(self, vocabulary: int, config: ModelConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, config.d_model, padding_idx=PAD)
        self.positions = PositionEncoding(config.d_model, config.max_positions, config.positions)
        self.dropout = Dropout(config.dropout)
        self.scale = math.sqrt(config.d_model)  # explained in `translator.model.transformer.init_weights`

    def forward(self, tokens: Tensor, start: int = 0) -> Tensor:
        """Return (B, T, D) for `tokens` (B, T) int64, positions from `start`; raises as `PositionEncoding.forward`."""
        x: Tensor = self.dropout(self.positions(self.tokens(tokens) * self.scale, start))
        return x


class RotaryPositions(nn.Module):
    """Rotates the queries and keys of self-attention by angles that grow with the position (Su et al. 2021 §3.2.2).

    Columns 2i and 2i + 1 of a head are a point in a plane, rotated at position p by the angle p · 10000^(-2i / K). So
    the dot product of a query at p and a key at q depends on the positions only through p - q.

    The table is not saved. It stays float32 under autocast; `.to(torch.bfloat16)` of the whole model would round it.
    """

    cosines_sines: Tensor  # (P, K/2, 2)

    def __init__(self, width: int, max_positions: int) -> None:
        super().__init__()
        sines_cosines = sinusoidal_positions(max_positions, width).view(max_positions, -1, 2)  # of the rotation angles
        self.register_buffer("cosines_sines", sines_cosines.flip(-1).contiguous(), persistent=False)

    def forward(self, x: Tensor, start: int = 0, positions: int | None = None) -> Tensor:
        """Return `x` (..., T, K), contiguous, rotated for positions `start` to `start + T - 1`.

        `positions` is 1 if all T rows are at position `start`, and None for one position per row.

        >>> RotaryPositions(width=2, max_positions=4)(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
        tensor([[ 1.0000,  0.0000],
                [ 0.5403,  0.8415],
                [-0.9093, -0.4161]])
        """
        end = start + (x.size(-2) if positions is None else positions)
        y: Tensor = _Rotation.apply(x, self.cosines_sines[start:end])  # type: ignore[no-untyped-call]
        return y


def rotary_positions(config: ModelConfig) -> RotaryPositions | None:
    """Return the rotation that all layers of a stack share; None if `config` uses other position encodings."""
    if config.positions != "rotary":
        return None
    return RotaryPositions(config.d_model // config.heads, config.max_positions)


class _Rotation(torch.autograd.Function):
    """A rotation, whose gradient is the inverse rotation of the incoming gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cosines_sines: Tensor) -> Tensor:
        ctx.save_for_backward(cosines_sines)
        return _rotated(x, *cosines_sines.unbind(-1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        cosines, sines = ctx.saved_tensors[0].unbind(-1)
        return _rotated(gradient, cosines, -sines), None


def _rotated(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Return (..., T, K) for `x` (..., T, K), cosines and sines (T, K/2), computed in at least float32."""
    y = x.to(torch.promote_types(x.dtype, torch.float32), memory_format=torch.contiguous_format, copy=True)
    pairs = y.view(*y.shape[:-1], -1, 2)
    if x.device.type == "cpu" and not torch.compiler.is_compiling():
        # On a CPU, complex products of adjacent columns take a third of the time; torch.compile does not support them.
        torch.view_as_complex(pairs).mul_(torch.complex(cosines, sines))
        return y.to(x.dtype)
    first, second = pairs.unbind(-1)
    rotated = torch.stack((first * cosines - second * sines, first * sines + second * cosines), dim=-1)
    return rotated.flatten(-2).to(x.dtype)
