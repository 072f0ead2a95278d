"""The best continuations of a hypothesis: top-k over the vocabulary, with ties in a fixed order.

R rows, V vocabulary, C continuations of a row
"""

from typing import Final, NamedTuple

import torch
from torch import Tensor

from translator.search.hypothesis import FIRST_PRODUCED
from translator.search.waiting import runs_behind

GROUP_SIZE: Final = 32  # adjacent values that share a maximum


class Continuations(NamedTuple):
    """The most likely next tokens of each row, best first."""

    log_probabilities: Tensor  # (R, C) float32, over the whole vocabulary; -inf = forbidden
    tokens: Tensor  # (R, C) int64


class Largest(NamedTuple):
    """The largest values of each row, largest first."""

    values: Tensor  # (R, C)
    indices: Tensor  # (R, C) int64


def best_continuations(logits: Tensor, count: int, forbidden: Tensor | None = None) -> Continuations:
    """Return the `count` most likely next tokens of each row; ties go to the lowest ids.

    C is `count`, or the number of producible tokens if that is smaller.

    Args:
        logits: (R, V) of any floating-point type; computed in float32.
        count: the number of tokens for each row.
        forbidden: (R, V) bool, True = forbidden; None forbids PAD, UNK and SOS.
    """
    logits = logits.float()
    if forbidden is None:
        producible = logits[:, FIRST_PRODUCED:]  # a view: no copy of size V
        tokens = largest(producible, count).indices + FIRST_PRODUCED
        return Continuations(log_probabilities=log_probabilities_of(tokens, logits), tokens=tokens)
    best = largest(logits.masked_fill(forbidden, -torch.inf), count)
    log_probabilities = log_probabilities_of(best.indices, logits)
    log_probabilities = log_probabilities.masked_fill(best.values == -torch.inf, -torch.inf)
    return Continuations(log_probabilities=log_probabilities, tokens=best.indices)


def log_probabilities_of(tokens: Tensor, logits: Tensor) -> Tensor:
    """Return the log-probabilities (R, C) of `tokens` (R, C) int64 in the distributions of `logits` (R, V)."""
    return logits.log_softmax(dim=-1).gather(1, tokens)  # one pass; `logsumexp` takes five


def largest(values: Tensor, count: int) -> Largest:
    """Return the `count` largest values of each row of `values` (R, V); ties go to the lowest index.

    `torch.topk` alone leaves the order of ties open, so that a translation could differ between machines. C is
    `count`, or V if that is smaller.
    """
    count = min(count, values.size(1))
    if count == 1:
        greatest = values.max(dim=1, keepdim=True)  # ties: the lowest index
        return Largest(values=greatest.values, indices=greatest.indices)

    if runs_behind(values.device):
        return _largest_of_groups(values, count)

    # One value more than necessary shows whether ties with the last one were left out.
    best, indices = values.topk(min(count + 1, values.size(1)), dim=1)
    is_tie = (best[:, 1:] == best[:, :-1]) & (best[:, 1:] > -torch.inf)
    best, indices = best[:, :count], indices[:, :count]  # (R, C) each

    # Ties are rare in float32, frequent in half precision.
    tied_rows = is_tie.any(dim=1).nonzero().squeeze(1)
    if len(tied_rows) > 0:
        indices[tied_rows] = _lowest_of_equals(values[tied_rows], best[tied_rows], indices[tied_rows])
    return Largest(values=best, indices=indices)


def _largest_of_groups(values: Tensor, count: int) -> Largest:
    """Return what `largest` does, in two stages of a stable sort, without reading a value.

    The `count` largest values lie in the `count` groups of adjacent values that have the largest maxima. This holds
    with ties, too: a group whose maximum is larger, or equal and more to the left, has a value that comes first. The
    maxima take one pass through the values, where torch's `topk` takes several.
    """
    size = values.size(1)

    # 1. Find the groups with the largest maxima. The last group may be smaller.
    whole_groups = size // GROUP_SIZE
    whole_size = whole_groups * GROUP_SIZE
    groups = values[:, :whole_size].reshape(len(values), whole_groups, GROUP_SIZE)
    maxima = groups.amax(dim=2)  # (R, groups)
    if whole_size < size:
        maxima = torch.cat((maxima, values[:, whole_size:].amax(dim=1, keepdim=True)), dim=1)
    best_groups = maxima.sort(dim=1, descending=True, stable=True).indices[:, :count]
    best_groups = best_groups.sort(dim=1).values  # (R, groups), so that candidates are in the order of their indices

    # 2. Sort the values of these groups.
    offsets = torch.arange(GROUP_SIZE, device=values.device)
    candidates = (best_groups.unsqueeze(2) * GROUP_SIZE + offsets).flatten(1)  # (R, groups * GROUP_SIZE)
    is_outside = candidates >= size
    candidates = candidates.clamp(max=size - 1)
    candidate_values = values.gather(1, candidates).masked_fill(is_outside, -torch.inf)
    best = candidate_values.sort(dim=1, descending=True, stable=True)
    return Largest(values=best.values[:, :count], indices=candidates.gather(1, best.indices[:, :count]))


def _lowest_of_equals(values: Tensor, best: Tensor, indices: Tensor) -> Tensor:
    """Return the indices (R, C) of the largest values, with ties at the lowest indices.

    Args:
        values: (R, V).
        best: (R, C), the largest values of each row, largest first.
        indices: (R, C) int64, of `best` in `values`, in any choice and order of ties.
    """
    count = best.size(1)
    size = values.size(1)

    # 1. Ties with the last value may have been left out: list its lowest indices. Rank r of `falling` is V - r.
    last = best[:, -1:]  # (R, 1)
    falling = torch.arange(size, 0, -1, device=values.device)  # (V,)
    lowest_indices = size - (falling * (values == last)).topk(count, dim=1).values  # (R, C), lowest first

    # 2. After the values above the last one, put these indices.
    above_count = (best > last).sum(dim=1, keepdim=True)  # (R, 1)
    ranks = torch.arange(count, device=values.device)  # (C,)
    rank_among_equals = (ranks - above_count).clamp(min=0)  # (R, C)
    indices = torch.where(ranks < above_count, indices, lowest_indices.gather(1, rank_among_equals))

    # 3. Order by index, then, keeping that order among ties, by value.
    ascending, order = indices.sort(dim=1)
    by_value = best.gather(1, order).sort(dim=1, descending=True, stable=True).indices
    return ascending.gather(1, by_value)
