"""Constraints on a search: minimum length, no repeated n-grams, forced prefixes.

B sentences, R rows, T tokens so far, V vocabulary, P tokens of the longest prefix
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from translator.core import EOS, PAD
from translator.core.hypothesis import FIRST_PRODUCED
from translator.search.request import SearchRequest


class Constraints:
    """Forbids next tokens of a hypothesis; the scores of the allowed tokens do not change.

    Args:
        request: says for B sentences what their outputs may not contain. For repeated n-grams see Paulus et al. 2018
            §2.5. Prefixes take precedence, and UNK may be forced.
        shortest: the minimum length of each output in tokens, EOS included.
        device: where the search runs.
    """

    def __init__(self, request: SearchRequest, shortest: Sequence[int], device: torch.device) -> None:
        self._shortest = torch.tensor(shortest, device=device)  # (B,)
        self._ngram_length = request.config.no_repeat_ngram
        self._no_doubles = request.no_doubles
        prefixes = [self._shortest.new_tensor(prefix) for prefix in request.prefixes or [()] * len(shortest)]
        self._forced = pad_sequence(prefixes, batch_first=True, padding_value=PAD)  # (B, P)

    def forbidden(self, produced: Tensor, sentences: Tensor, vocabulary: int) -> Tensor:
        """Return a mask (R, V) bool, True = forbidden: PAD, UNK, SOS, and the tokens that the constraints forbid.

        Where they forbid every token, EOS is allowed: a hypothesis that cannot continue ends.

        Args:
            produced: (R, T) int64 tokens so far, without SOS.
            sentences: (R,) int64, index of each row's sentence in the batch.
            vocabulary: V.
        """
        length = produced.size(1)
        forbidden = torch.zeros(len(produced), vocabulary, dtype=torch.bool, device=produced.device)
        forbidden[:, :FIRST_PRODUCED] = True  # PAD, UNK and SOS

        # The minimum length: no EOS before it. With EOS as the next token, an output has `length + 1` tokens.
        forbidden[:, EOS] = self._shortest[sentences] > length + 1

        # No repeated n-grams: the last n - 1 tokens begin an n-gram, whose last token is forbidden if it has occurred.
        if 0 < self._ngram_length <= length:
            ngrams = produced.unfold(1, self._ngram_length, 1)  # (R, T - n + 1, n)
            beginning = produced[:, length - self._ngram_length + 1 :].unsqueeze(1)  # (R, 1, n - 1)
            has_beginning = (ngrams[:, :, :-1] == beginning).all(dim=2)  # (R, T - n + 1)
            # N-grams with another beginning forbid PAD, which is forbidden anyway. To leave them out would be slow: the
            # program would wait for the GPU to learn their number.
            last_tokens = ngrams[:, :, -1].masked_fill(~has_beginning, PAD)  # (R, T - n + 1)
            forbidden.scatter_(1, last_tokens, True)

        # No doubles: the last token does not follow itself.
        if self._no_doubles and length > 0:
            forbidden.scatter_(1, produced[:, -1:], True)

        # Inside a forced prefix, its next token is the only one that is allowed.
        if length < self._forced.size(1):
            forced = self._forced[sentences, length].unsqueeze(1)  # (R, 1); PAD after the end of a prefix
            # Forbid all tokens, and then allow the forced one. After the end, this only forbids PAD once more.
            forbidden |= forced != PAD
            forbidden.scatter_(1, forced, forced == PAD)

        # A hypothesis that cannot continue ends.
        forbidden[:, EOS] &= ~forbidden.all(dim=1)
        return forbidden
