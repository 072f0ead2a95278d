"""Constraints on what may follow: each forbids tokens, and none changes the scores of those that stay.

R rows of a search, V vocabulary, T tokens so far
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from translator.search.continuations import FIRST_PRODUCED
from translator.special_tokens import EOS


class Constraint(Protocol):
    """Says which tokens may not follow a prefix."""

    def apply(self, forbidden: Tensor, prefixes: Tensor, sentences: Tensor) -> None:
        """Change `forbidden` in place.

        Args:
            forbidden: (R, V) bool, True = may not follow, as the constraints before this one have left it.
            prefixes: (R, T) int64 tokens so far, without SOS.
            sentences: (R,) int64, which sentence of the batch each row belongs to.
        """


def forbidden_tokens(constraints: Sequence[Constraint], vocabulary: int, prefixes: Tensor, sentences: Tensor) -> Tensor:
    """Return (R, V) bool, True = may not follow: PAD, UNK, SOS, and what `constraints` forbid, one after the other.

    Where they forbid everything, EOS may follow: a hypothesis that cannot go on ends, even before its shortest length.

    Args:
        constraints: the last has the last word.
        vocabulary: V.
        prefixes: (R, T) int64 tokens so far, without SOS.
        sentences: (R,) int64, which sentence of the batch each row belongs to.
    """
    forbidden = torch.zeros(len(prefixes), vocabulary, dtype=torch.bool, device=prefixes.device)
    forbidden[:, :FIRST_PRODUCED] = True
    for constraint in constraints:
        constraint.apply(forbidden, prefixes, sentences)
    forbidden[:, EOS] &= ~forbidden.all(dim=1)
    return forbidden
