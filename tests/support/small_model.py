"""A small model and small batches that several tests share."""

import numpy as np
import torch
from torch import Tensor

from translator.config import ModelConfig
from translator.data import Batch, collate_rows
from translator.model import Transformer
from translator.special_tokens import EOS, PAD, SOS

SMALL = ModelConfig(d_model=32, heads=4, encoder_layers=2, decoder_layers=2, feed_forward=128, max_positions=32)
Pair = tuple[list[int], list[int]]


def small_model(**changes: object) -> Transformer:
    torch.manual_seed(1)
    return Transformer(SMALL.model_copy(update=changes), 21, 27)


def small_batch() -> tuple[Tensor, Tensor, Tensor]:
    """Source (2, 6), target input (2, 5) and labels (2, 5), one sentence per row."""
    source = torch.tensor([[5, 6, 7, 8, 9, EOS], [10, 11, EOS, PAD, PAD, PAD]])
    target_input = torch.tensor([[SOS, 20, 21, 22, 23], [SOS, 24, 25, PAD, PAD]])
    labels = torch.tensor([[20, 21, 22, 23, EOS], [24, 25, EOS, PAD, PAD]])
    return source, target_input, labels


def random_pairs(count: int, longest: int = 7, seed: int = 1) -> list[Pair]:
    """Pairs of ids without special tokens, of 0 to `longest` tokens per side."""
    generator = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        source_length = generator.integers(0, longest + 1)
        source = generator.integers(4, 21, source_length).tolist()
        target_length = generator.integers(0, longest + 1)
        target = generator.integers(4, 27, target_length).tolist()
        pairs.append((source, target))
    return pairs


def rows_of(pairs: list[Pair], pairs_a_row: int, row_length: int | None = None) -> Batch:
    """The batch of `pairs`, so many in each row."""
    rows = [pairs[start : start + pairs_a_row] for start in range(0, len(pairs), pairs_a_row)]
    return collate_rows(rows, row_length)
