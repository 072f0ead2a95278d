"""The likeliest next tokens, with ties broken by the lowest id.

R rows, V vocabulary, C continuations of a row
"""

import torch
from torch import Tensor

from translator.special_tokens import SOS

FIRST_PRODUCED = SOS + 1
"""The lowest id that a search produces: PAD, UNK and SOS below it stand for no text."""

_GROUP = 20
"""Columns of a group; measured, groups of 10 to 80 differ little."""


def best_continuations(logits: Tensor, count: int, forbidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities and ids, (R, C) each, of the `count` likeliest next tokens, best first.

    The log-probabilities are those of the whole distribution, in float32 whatever the type of the logits; tokens that
    are forbidden have -inf. C is `count`, or as many as may ever be produced.

    Args:
        logits: (R, V).
        count: tokens wanted for each row.
        forbidden: (R, V) bool, True = may not follow; None forbids PAD, UNK and SOS.
    """
    logits = logits.float()
    if forbidden is not None:
        best, tokens = largest(logits.masked_fill(forbidden, -torch.inf), count)
        return log_probabilities_of(tokens, logits).masked_fill(best == -torch.inf, -torch.inf), tokens
    tokens = largest(logits[:, FIRST_PRODUCED:], count)[1] + FIRST_PRODUCED  # of a view: nothing of size V is copied
    return log_probabilities_of(tokens, logits), tokens


def log_probabilities_of(tokens: Tensor, logits: Tensor) -> Tensor:
    """Return the log-probabilities (R, C) of `tokens` (R, C) in the distributions of `logits` (R, V), float32."""
    return logits.log_softmax(dim=-1).gather(1, tokens)  # one pass; `logsumexp` takes five


def largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` largest of each row of `values` (R, V) and their places, equal ones in order of place."""
    count = min(count, values.size(1))
    if count == 1:
        best, places = values.max(dim=1, keepdim=True)  # the first of equal ones
        return best, places
    # One more than wanted shows whether the last one wanted has equals that were left out.
    best, places = _largest_of_groups(values, min(count + 1, values.size(1)))
    ties = (best[:, 1:] == best[:, :-1]) & (best[:, 1:] > -torch.inf)  # (R, C)
    best, places = best[:, :count], places[:, :count]
    rows = ties.any(dim=1).nonzero().squeeze(1)  # few in float32, many in half precision
    if len(rows):
        places[rows] = _lowest_of_equals(values[rows], best[rows], places[rows])
    return best, places


def _largest_of_groups(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return what `topk` returns, but look closely only at the groups of columns whose maxima are largest.

    A maximum over groups is one quick pass; `topk` then sorts two short rows in place of a long one.
    """
    columns = values.size(1) // _GROUP  # of the table whose columns are the groups
    if columns < 4 * count:
        return values.topk(count, dim=1)
    table = values[:, : columns * _GROUP].reshape(-1, _GROUP, columns)  # (R, group, columns)
    groups = table.amax(dim=1).topk(count, dim=1, sorted=False).indices  # (R, C)
    chosen = table.gather(2, groups.unsqueeze(1).expand(-1, _GROUP, -1)).flatten(1)  # (R, group * C)
    rest = values[:, columns * _GROUP :]
    best, places = torch.cat((chosen, rest), dim=1).topk(count, dim=1)
    of_table = places // count * columns + groups.gather(1, places % count)
    return best, torch.where(places < chosen.size(1), of_table, places - chosen.size(1) + columns * _GROUP)


def _lowest_of_equals(values: Tensor, best: Tensor, places: Tensor) -> Tensor:
    """Return `places` (R, C) of the `best` (R, C), largest first, in `values` (R, V), the lowest places of equals."""
    count, size = best.size(1), values.size(1)
    last = best[:, -1:]  # (R, 1): only its equals can have been left out
    falling = torch.arange(size, 0, -1, device=values.device)  # (V,)
    equals = size - (falling * (values == last)).topk(count, dim=1).values  # (R, C) places, the lowest first
    larger = (best > last).sum(dim=1, keepdim=True)  # (R, 1)
    ranks = torch.arange(count, device=values.device)  # (C,)
    places = torch.where(ranks < larger, places, equals.gather(1, (ranks - larger).clamp(min=0)))
    ascending, order = places.sort(dim=1)
    return ascending.gather(1, best.gather(1, order).sort(dim=1, descending=True, stable=True).indices)
