"""What a search needs of a model; anything that has it can be searched, also a table of known probabilities.

B sentences, W rows for each of them in a run, R = B * W rows, S source length, V vocabulary
"""

from typing import Protocol, TypeVar

import torch
from torch import Tensor

from translator.special_tokens import PAD, SOS, UNK

FORBIDDEN = (PAD, UNK, SOS)
"""Tokens that are never produced: they stand for no text."""


class SearchState(Protocol):
    """What a model remembers of the rows of a search between two steps."""

    def select(self, rows: Tensor) -> None:
        """Reorder, repeat and drop rows: row i becomes what row `rows[i]` was.

        Args:
            rows: (R',) int64, R' a multiple of W; each run of W comes from the rows of one sentence, and sentences keep
                their order.
        """


State = TypeVar("State", bound=SearchState)


class SearchModel(Protocol[State]):
    """A model that tells the next token's probabilities, one step at a time."""

    @property
    def max_positions(self) -> int:
        """Steps that it can take at most."""

    def start(self, source: Tensor, width: int = 1) -> State:
        """Return the state before the first step, for `source` (B, S) int64 and `width` = W rows a sentence."""

    def step(self, tokens: Tensor, cache: State, /) -> Tensor:
        """Take in `tokens` (R,) int64, SOS first, and return the logits (R, V) of the tokens that follow."""


def best_continuations(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities and ids, (R, count) each, of the likeliest next tokens, best first.

    The log-probabilities are those of the whole distribution, in float32 whatever the type of the logits; tokens that
    are never produced have -inf. `count` must not exceed V.

    Args:
        logits: (R, V).
        count: tokens wanted for each row.
    """
    logits = logits.float()
    log_total = logits.logsumexp(dim=-1, keepdim=True)  # (R, 1): only the winners need the subtraction
    allowed = logits.index_fill(1, torch.tensor(FORBIDDEN, device=logits.device), -torch.inf)  # (R, V)
    best, tokens = allowed.topk(count, dim=-1) if count > 1 else allowed.max(dim=-1, keepdim=True)
    return best - log_total, tokens
