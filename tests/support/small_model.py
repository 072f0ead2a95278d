"""A small model and small batches that several tests share."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from translator.core import EOS, PAD, SOS
from translator.core.batch import Batch, collate_rows
from translator.core.layers import NetworkSettings
from translator.core.transformer import Transformer

SMALL = NetworkSettings(
    d_model=32, heads=4, encoder_layers=2, decoder_layers=2, feed_forward=128, dropout=0.1, max_positions=32
)
Pair = tuple[list[int], list[int]]


def small_model(**changes: Any) -> Transformer:
    """A model with random weights, always the same, in training; `changes` are to `SMALL`."""
    torch.manual_seed(1)
    return Transformer(replace(SMALL, **changes), 21, 27)


def small_batch() -> tuple[Tensor, Tensor, Tensor]:
    """Source (2, 6), target input (2, 5) and labels (2, 5), one sentence per row."""
    source = torch.tensor([[5, 6, 7, 8, 9, EOS], [10, 11, EOS, PAD, PAD, PAD]])
    target_input = torch.tensor([[SOS, 20, 21, 22, 23], [SOS, 24, 25, PAD, PAD]])
    labels = torch.tensor([[20, 21, 22, 23, EOS], [24, 25, EOS, PAD, PAD]])
    return source, target_input, labels


def random_pairs(count: int, seed: int = 1) -> list[Pair]:
    """Pairs of ids without special tokens, of 0 to 7 tokens per side."""
    generator = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        source = generator.integers(4, 21, generator.integers(0, 8)).tolist()
        target = generator.integers(4, 27, generator.integers(0, 8)).tolist()
        pairs.append((source, target))
    return pairs


def rows_of(pairs: list[Pair], pairs_a_row: int, row_length: int | None = None) -> Batch:
    """The batch of `pairs`, so many in each row."""
    rows = [pairs[start : start + pairs_a_row] for start in range(0, len(pairs), pairs_a_row)]
    return collate_rows(rows, row_length)
