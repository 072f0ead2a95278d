"""Attention masks from sentence numbers: boolean; True means "may attend", here and in every room.

A row of a batch holds several sentences, numbered from 1; PAD has the number 0 (`translator.core.batch`). A token
attends to its own sentence only:

    mask      shape          a token attends to                                     PAD attends to
    encoder   (R, 1, S, S)   source positions of its sentence                       PAD
    decoder   (R, 1, T, T)   target positions of its sentence, up to its own        PAD, up to its own position
    cross     (R, 1, T, S)   source positions of the sentence with its number       the whole source

A search has one sentence per row: the numbers are 1 at tokens and 0 at PAD.

PAD attends to something, so that no softmax is over nothing; in the target, to the whole source, because a full source
row has no PAD. The states at PAD are meaningless, and no loss depends on them.

R rows, S source positions, T target positions, L either
"""

from typing import NamedTuple

import torch
from torch import Tensor

from translator.core import PAD


class Masks(NamedTuple):
    """The three masks of one batch, True = may attend."""

    encoder: Tensor  # (R, 1, S, S) bool, for self-attention in the encoder
    decoder: Tensor  # (R, 1, T, T) bool, for self-attention in the decoder
    cross: Tensor  # (R, 1, T, S) bool, for attention from the decoder to the encoder's output


class MaskGenerator:
    """Creates the masks of Vaswani et al. 2017 §3.2.3 for rows of several sentences.

    All methods take the number of the sentence of each position, int64, 0 at PAD: (R, S) for the source, (R, T) for the
    target.
    """

    def __call__(self, source_sentence: Tensor, target_sentence: Tensor) -> Masks:
        """Return all masks of a batch."""
        return Masks(
            encoder=self.same_sentence(source_sentence, source_sentence),
            decoder=self.decoder(target_sentence),
            cross=self.cross(target_sentence, source_sentence),
        )

    def decoder(self, target_sentence: Tensor) -> Tensor:
        """Return (R, 1, T, T): True within a sentence, up to the query's position."""
        causal = self.causal(target_sentence.size(1), target_sentence.device)
        return self.same_sentence(target_sentence, target_sentence) & causal

    def cross(self, target_sentence: Tensor, source_sentence: Tensor) -> Tensor:
        """Return (R, 1, T, S): True from a target sentence to the source sentence of the same number."""
        # A full source row has no PAD that PAD in the target could attend to: let it attend to everything.
        is_padding = (target_sentence == 0)[:, None, :, None]
        return self.same_sentence(target_sentence, source_sentence) | is_padding

    @staticmethod
    def same_sentence(query_sentence: Tensor, key_sentence: Tensor) -> Tensor:
        """Return (R, 1, queries, keys), True where both positions have the same sentence number.

        >>> numbers = torch.tensor([[1, 1, 2, 0]])
        >>> MaskGenerator.same_sentence(numbers, numbers).long()[0, 0]
        tensor([[1, 1, 0, 0],
                [1, 1, 0, 0],
                [0, 0, 1, 0],
                [0, 0, 0, 1]])
        """
        return (query_sentence[:, :, None] == key_sentence[:, None, :])[:, None]

    @staticmethod
    def causal(length: int, device: torch.device | None = None) -> Tensor:
        """Return the (1, 1, T, T) look-ahead mask for T = `length`: line t is True at columns 0..t.

        >>> MaskGenerator.causal(3).long()[0, 0]
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]])
        """
        return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()


def one_sentence_a_row(tokens: Tensor) -> Tensor:
    """Return the sentence numbers (R, L) of `tokens` (R, L) with one sentence in each row: 1, and 0 at PAD."""
    return (tokens != PAD).long()
