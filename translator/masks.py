"""Attention masks from token ids: boolean; True means "may attend", here and everywhere in this package.

Masks broadcast over heads, and over queries where they are the same for all:

    encoder   (B, 1, 1, S)   any source position may attend to the real tokens of its own sentence
    decoder   (B, 1, T, T)   target position t may attend to the real tokens at positions 0..t
    cross     (B, 1, 1, S)   any target position may attend to the real tokens of its source

For a query without allowed positions (a row of only PAD), attention returns zeros, never NaN.

B batch, S source length, T target length, L either
"""

from typing import NamedTuple

import torch
from torch import Tensor

from translator.special_tokens import PAD


class Masks(NamedTuple):
    """The three masks of one batch, True = may attend."""

    encoder: Tensor  # (B, 1, 1, S) bool, for self-attention in the encoder
    decoder: Tensor  # (B, 1, T, T) bool, for self-attention in the decoder
    cross: Tensor  # (B, 1, 1, S) bool, for attention from the decoder to the encoder's output


class MaskGenerator:
    """Creates the masks of Vaswani et al. 2017 §3.2.3 from token ids."""

    def __call__(self, source: Tensor, target_input: Tensor) -> Masks:
        """Return all masks of a batch.

        Args:
            source: (B, S) int64 ids.
            target_input: (B, T) int64 ids, SOS first.
        """
        return Masks(self.encoder(source), self.decoder(target_input), self.cross(source))

    def encoder(self, source: Tensor) -> Tensor:
        """Return the (B, 1, 1, S) mask of self-attention on `source` (B, S): True at real tokens."""
        return self.padding(source)

    def decoder(self, target_input: Tensor) -> Tensor:
        """Return the (B, 1, T, T) mask of `target_input` (B, T): True at real tokens up to the query's position."""
        return self.causal(target_input.size(1), target_input.device) & self.padding(target_input)

    def cross(self, source: Tensor) -> Tensor:
        """Return the (B, 1, 1, S) mask for queries from the target to `source` (B, S): True at real tokens."""
        return self.padding(source)

    def padding(self, tokens: Tensor) -> Tensor:
        """Return (B, 1, 1, L) for `tokens` (B, L), True at real tokens.

        >>> MaskGenerator().padding(torch.tensor([[7, 8, PAD]])).tolist()
        [[[[True, True, False]]]]
        """
        return (tokens != PAD)[:, None, None, :]

    @staticmethod
    def causal(length: int, device: torch.device | None = None) -> Tensor:
        """Return the (1, 1, T, T) look-ahead mask for T = `length`: row t is True at columns 0..t.

        >>> MaskGenerator.causal(3).long()[0, 0]
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]])
        """
        return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()
