"""How long an output may and must be, from the length of its source.

B batch, S source length
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from translator.errors import InputError
from translator.special_tokens import PAD

EXTRA_LENGTH = 10
"""Tokens that an output may have beyond its share of the source's, and beyond a forced prefix."""


def longest_outputs(source: Tensor, ratio: float, max_positions: int) -> Tensor:
    """Return (B,) int64, the tokens (EOS included) that each output may have.

    That is `ratio` times the tokens of the source, rounded down, and ten more, within the positions of the model.

    Args:
        source: (B, S) int64 ids, filled with PAD.
        ratio: target tokens per source token.
        max_positions: longest sequence that the model knows.
    """
    return (_shares(source, ratio) + EXTRA_LENGTH).clamp(max=max_positions)


def shortest_outputs(source: Tensor, ratio: float, longest: Tensor) -> Tensor:
    """Return (B,) int64, the tokens (EOS included) that each output must have.

    That is `ratio` times the tokens of the source, rounded down, but never more than the output may have.

    Args:
        source: (B, S) int64 ids, filled with PAD.
        ratio: target tokens per source token.
        longest: (B,) int64, tokens that each output may have.
    """
    return torch.minimum(_shares(source, ratio), longest)


def room_for_prefixes(longest: Tensor, prefixes: Sequence[Sequence[int]], max_positions: int) -> Tensor:
    """Return `longest` (B,), lengthened so that ten tokens may follow each forced prefix.

    Raises:
        InputError: a prefix and EOS together have more tokens than the model has positions.
    """
    lengths = [len(prefix) for prefix in prefixes]
    for number, length in enumerate(lengths, start=1):
        if length >= max_positions:
            raise InputError(
                f"the forced prefix of sentence {number} has {length} tokens, but the model can take no more than "
                f"{max_positions - 1} before the end of a sentence; shorten it"
            )
    return torch.maximum(longest, (longest.new_tensor(lengths) + EXTRA_LENGTH).clamp(max=max_positions))


def _shares(source: Tensor, ratio: float) -> Tensor:
    """Return (B,) int64, `ratio` times the tokens of each row, rounded down."""
    return ((source != PAD).sum(dim=1).double() * ratio).long()
