"""A small model and a small batch that several tests share."""

import torch
from torch import Tensor

from translator.config import ModelConfig
from translator.model import Transformer
from translator.special_tokens import EOS, PAD, SOS

SMALL = ModelConfig(d_model=32, heads=4, encoder_layers=2, decoder_layers=2, feed_forward=128, max_positions=32)


def small_model(**changes: object) -> Transformer:
    torch.manual_seed(1)
    return Transformer(SMALL.model_copy(update=changes), 21, 27)


def small_batch() -> tuple[Tensor, Tensor, Tensor]:
    """Source (2, 6), target input (2, 5) and labels (2, 5)."""
    source = torch.tensor([[5, 6, 7, 8, 9, EOS], [10, 11, EOS, PAD, PAD, PAD]])
    target_input = torch.tensor([[SOS, 20, 21, 22, 23], [SOS, 24, 25, PAD, PAD]])
    labels = torch.tensor([[20, 21, 22, 23, EOS], [24, 25, EOS, PAD, PAD]])
    return source, target_input, labels
