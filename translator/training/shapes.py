"""Sizes of batches that compiled code takes: any but one.

Code compiled once for all shapes pays no padding. Padding to a grid of few shapes, each compiled by itself, was tried:
lengths that are multiples of 8 alone took 14% to 30% more positions on the batches of the sample and of Mizan, and the
few shapes that CUDA graphs want 25% to 42%.
"""

from typing import Final

import torch.nn.functional as F
from torch import Tensor

from translator.data import Batch
from translator.special_tokens import EOS, PAD, SOS

_LEAST: Final = 2
"""Torch takes a size of 1 as a case of its own, and would compile for it again."""


def without_ones(batch: Batch) -> Batch:
    """Return `batch` with PAD columns and rows added where it has but one.

    What is added costs nothing and teaches nothing: its labels are PAD. An added row has one token on either side, so
    that attention always has something to attend to. Indices and token counts stay those of the pairs, and the losses
    of added rows come after the others and are zero.
    """
    rows = max(batch.size, _LEAST)
    source_length, target_length = max(batch.source.size(1), _LEAST), max(batch.labels.size(1), _LEAST)
    return Batch(
        _padded(batch.source, rows, source_length, EOS),
        _padded(batch.target_input, rows, target_length, SOS),
        _padded(batch.labels, rows, target_length, PAD),
        batch.indices,
        batch.source_tokens,
        batch.target_tokens,
    )


def _padded(tokens: Tensor, rows: int, length: int, first: int) -> Tensor:
    """Return `tokens` (B, L) as (rows, length), each added row beginning with `first`."""
    added = rows - tokens.size(0)
    if not added and length == tokens.size(1):
        return tokens
    padded = F.pad(tokens, (0, length - tokens.size(1), 0, added), value=PAD)
    padded[tokens.size(0) :, 0] = first
    return padded
