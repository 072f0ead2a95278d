"""The constraint that a hypothesis begins with given tokens.

B batch, P longest prefix, R rows of a search
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from translator.errors import InputError
from translator.special_tokens import EOS, PAD, SOS, UNK


class ForcedPrefix:
    """Forbids all but the next token of the prefix, as long as there is one; UNK may be forced.

    Args:
        prefixes: for each sentence of the batch the ids it must begin with, without SOS.
        device: of the search.

    Raises:
        InputError: a prefix has PAD, SOS or EOS in it, or a negative number.
    """

    def __init__(self, prefixes: Sequence[Sequence[int]], device: torch.device) -> None:
        for number, prefix in enumerate(prefixes, start=1):
            for token in prefix:
                if token in (PAD, SOS, EOS) or token < 0:
                    raise InputError(f"the forced prefix of sentence {number} has token {token}, which is no text")
        longest = max(map(len, prefixes), default=0)
        self._largest = max((token for prefix in prefixes for token in prefix), default=UNK)
        rows = [[*prefix, *[PAD] * (longest - len(prefix))] for prefix in prefixes]
        self._tokens = torch.tensor(rows, dtype=torch.long, device=device).view(len(rows), longest)  # (B, P)

    def apply(self, forbidden: Tensor, prefixes: Tensor, sentences: Tensor) -> None:
        """See `Constraint.apply`.

        Raises:
            InputError: a prefix has a token beyond the vocabulary.
        """
        if self._largest >= forbidden.size(1):
            last = forbidden.size(1) - 1
            raise InputError(f"a forced prefix has token {self._largest}, but the target vocabulary ends with {last}")
        length = prefixes.size(1)
        if length >= self._tokens.size(1):
            return
        forced = self._tokens[sentences, length]  # (R,)
        rows = (forced != PAD).nonzero().squeeze(1)
        forbidden[rows] = True
        forbidden[rows, forced[rows]] = False
