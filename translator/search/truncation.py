"""Which tokens may be drawn: the k likeliest, or the fewest likeliest that together have probability p.

R rows, V vocabulary
"""

import torch
from torch import Tensor

from translator.search.continuations import largest


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Return `logits` (R, V) with -inf for all but the `k` largest of each row (Fan et al. 2018).

    Of equal ones the lowest ids are kept.
    """
    best, tokens = largest(logits, k)
    return torch.full_like(logits, -torch.inf).scatter(1, tokens, best)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """Return `logits` (R, V) with -inf outside the nucleus of each row (Holtzman et al. 2020 §3.1).

    The nucleus has the fewest of the likeliest tokens whose probabilities sum to at least `p`; of equal ones the lowest
    ids come first. It is never empty.
    """
    ordered, tokens = logits.sort(dim=1, descending=True, stable=True)
    probabilities = ordered.softmax(dim=1, dtype=torch.float64)
    before = probabilities.cumsum(dim=1) - probabilities  # (R, V) probability of all that are likelier
    return torch.full_like(logits, -torch.inf).scatter(1, tokens, ordered.masked_fill(before >= p, -torch.inf))
