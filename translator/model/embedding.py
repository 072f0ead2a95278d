"""From token ids to vectors that know their position (Vaswani et al. 2017 §3.4, §3.5).

B batch, T length, D model width, V vocabulary
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.errors import InputError
from translator.model.dropout import Dropout
from translator.special_tokens import PAD


def sinusoidal_positions(length: int, d_model: int) -> Tensor:
    """Return the (length, D) table of Vaswani et al. 2017 §3.5: sines in even columns, cosines in odd ones.

    Column pair i turns with wavelength 2π · 10000^(2i / D); D must be even.

    >>> sinusoidal_positions(3, 4)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)  # (length, 1)
    frequency = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10_000.0) / d_model))  # (D/2,)
    angle = position * frequency  # (length, D/2)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()  # (length, D)


Positions = Literal["sinusoidal", "learned", "rotary"]


class PositionEncoding(nn.Module):
    """Adds to each vector the one that stands for its position.

    Args:
        d_model: D.
        max_positions: longest sequence.
        kind: `sinusoidal` (fixed) or `learned`; with `rotary` attention sees to positions, and nothing is added.
    """

    table: Tensor | None

    def __init__(self, d_model: int, max_positions: int, kind: Positions) -> None:
        super().__init__()
        self.max_positions = max_positions
        if kind == "learned":
            self.table = nn.Parameter(torch.empty(max_positions, d_model))
        else:
            table = sinusoidal_positions(max_positions, d_model) if kind == "sinusoidal" else None
            self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Return `x` (B, T, D) plus the vectors of positions `start` to `start + T - 1`, where there are any.

        Raises:
            InputError: the sequence is longer than `max_positions`.
        """
        end = start + x.size(1)
        if end > self.max_positions:
            raise InputError(
                f"a sequence of {end} tokens is longer than the {self.max_positions} positions that this model knows; "
                "split the sentence, or train with a larger model.max_positions"
            )
        return x if self.table is None else x + self.table[start:end]


class Embedding(nn.Module):
    """Looks tokens up, scales them by √D, adds positions, and applies dropout to the sum (Vaswani et al. 2017 §5.4).

    With rotary positions nothing is added here.

    Args:
        vocabulary: V; a token outside it raises IndexError.
        config: width, positions and dropout.
    """

    def __init__(self, vocabulary: int, config: ModelConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, config.d_model, padding_idx=PAD)
        self.positions = PositionEncoding(config.d_model, config.max_positions, config.positions)
        self.dropout = Dropout(config.dropout)
        self.scale = math.sqrt(config.d_model)  # translator/model/initialisation.py says why

    def forward(self, tokens: Tensor, start: int = 0) -> Tensor:
        """Return (B, T, D) for `tokens` (B, T) int64, whose first column stands at position `start`.

        Raises:
            InputError: the tokens reach beyond the last position.
        """
        x: Tensor = self.dropout(self.positions(self.tokens(tokens) * self.scale, start))
        return x
