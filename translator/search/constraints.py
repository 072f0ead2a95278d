"""What a search may not produce: an early EOS, repeated n-grams, anything but a forced prefix (of P tokens at most)."""

import torch
from torch import Tensor

from translator.search.hypothesis import FIRST_PRODUCED, Rows
from translator.special_tokens import EOS, PAD


class Constraints:
    """Forbids tokens to follow a hypothesis; the scores of the others do not change.

    Args:
        shortest: (B,) int64, tokens that each output has at least, EOS included.
        no_repeat_ngram: n of the n-grams that a hypothesis has once at most (Paulus et al. 2018 §2.5); 0 allows all.
        prefixes: for each sentence the ids that its outputs begin with; they take precedence. UNK may be forced.
    """

    def __init__(self, shortest: Tensor, no_repeat_ngram: int = 0, prefixes: Rows | None = None) -> None:
        self._shortest = shortest
        self._size = no_repeat_ngram
        prefixes = prefixes or [()] * len(shortest)
        longest = max(map(len, prefixes), default=0)
        filled = [[*prefix, *[PAD] * (longest - len(prefix))] for prefix in prefixes]
        self._forced = shortest.new_tensor(filled).view(len(shortest), longest)  # (B, P)

    def forbidden(self, produced: Tensor, sentences: Tensor, vocabulary: int) -> Tensor:
        """Return (R, V) bool, True = may not follow: PAD, UNK, SOS, and what the constraints forbid.

        Where they forbid everything, EOS may follow: a hypothesis that cannot go on ends.

        Args:
            produced: (R, T) int64 tokens so far, without SOS.
            sentences: (R,) int64, which sentence of the batch each row belongs to.
            vocabulary: V.
        """
        length = produced.size(1)
        forbidden = torch.zeros(len(produced), vocabulary, dtype=torch.bool, device=produced.device)
        forbidden[:, :FIRST_PRODUCED] = True
        forbidden[:, EOS] = self._shortest[sentences] > length + 1
        if 0 < self._size <= length:
            ngrams = produced.unfold(1, self._size, 1)  # (R, T - n + 1, n)
            begun = produced[:, length - self._size + 1 :].unsqueeze(1)  # (R, 1, n - 1)
            repeats = (ngrams[:, :, :-1] == begun).all(dim=2)  # (R, T - n + 1)
            # PAD, which is forbidden anyway, stands for none: so nothing waits for a GPU.
            forbidden.scatter_(1, ngrams[:, :, -1].masked_fill(~repeats, PAD), True)
        if length < self._forced.size(1):
            forced = self._forced[sentences, length].unsqueeze(1)  # (R, 1)
            forbidden |= forced != PAD
            forbidden.scatter_(1, forced, forced == PAD)
        forbidden[:, EOS] &= ~forbidden.all(dim=1)
        return forbidden
