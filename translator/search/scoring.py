"""Scores: the interface of a model to search, length limits, best continuations, ensembles, scoring of given targets.

B sentences, W rows of each, R = B * W rows, S source length, T target length, V vocabulary, C continuations of a row
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.model.device import widest_float
from translator.search.hypothesis import EXTRA_LENGTH, FIRST_PRODUCED, Hypothesis, Rows, alike
from translator.special_tokens import EOS, PAD, SOS

TARGET_POSITIONS_AT_ONCE = 2_048  # per batch of `score_targets`; each has logits over the whole vocabulary
_USUAL: Final = SearchConfig()
_GROUP: Final = 20  # columns of a group in `largest`; groups of 10 to 80 differ little


class SearchState(Protocol):
    """The state of a model between two steps of a search, one entry per row."""

    def select(self, rows: Tensor) -> None:
        """Reorder, repeat and drop rows: row i becomes what row `rows[i]` was, for `rows` (R',) int64.

        R' is a multiple of W; each run of W comes from the rows of one sentence, and sentences keep their order.
        """


State = TypeVar("State", bound=SearchState)


class SearchModel(Protocol[State]):
    """The interface of a model to search, such as `Transformer`: next-token logits, one step at a time."""

    @property
    def max_positions(self) -> int:
        """The maximum number of steps."""

    def start(self, source: Tensor, width: int = 1) -> State:
        """Return the state before the first step, for `source` (B, S) int64 and `width` = W rows per sentence."""

    def step(self, tokens: Tensor, cache: State, /) -> Tensor:
        """Return the logits (R, V) of the tokens after `tokens` (R,) int64, and advance `cache`; start with SOS."""


def output_lengths(
    source: Tensor, config: SearchConfig, max_positions: int, prefixes: Rows | None = None
) -> tuple[Tensor, Tensor]:
    """Return the minimum and maximum output length for `source` (B, S): (B,) int64 each, in tokens, EOS included.

    Each is a ratio of `config` times the source length, rounded down. The maximum is `EXTRA_LENGTH` more,
    and lets as many tokens follow a forced prefix. Neither exceeds the positions of the model, and the minimum never
    exceeds the maximum.
    """
    tokens = (source != PAD).sum(dim=1).to(widest_float(source.device))
    longest = (tokens * config.max_length_ratio).long() + EXTRA_LENGTH
    if prefixes is not None:
        longest = torch.maximum(longest, longest.new_tensor([len(prefix) for prefix in prefixes]) + EXTRA_LENGTH)
    longest = longest.clamp(max=max_positions)
    return torch.minimum((tokens * config.min_length_ratio).long(), longest), longest


def log_probabilities_of(tokens: Tensor, logits: Tensor) -> Tensor:
    """Return the log-probabilities (R, C) of `tokens` (R, C) in the distributions of `logits` (R, V), float32."""
    return logits.log_softmax(dim=-1).gather(1, tokens)  # one pass; `logsumexp` takes five


def best_continuations(logits: Tensor, count: int, forbidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities and ids, (R, C) each, of the `count` most likely next tokens, best first.

    The log-probabilities are normalized over the whole vocabulary, in float32 for every type of logits; forbidden
    tokens have -inf. Ties go to the lowest ids. C is `count`, or the number of producible tokens if that is smaller.
    `forbidden` is (R, V) bool, True = forbidden; None forbids PAD, UNK and SOS.
    """
    logits = logits.float()
    if forbidden is not None:
        best, tokens = largest(logits.masked_fill(forbidden, -torch.inf), count)
        return log_probabilities_of(tokens, logits).masked_fill(best == -torch.inf, -torch.inf), tokens
    tokens = largest(logits[:, FIRST_PRODUCED:], count)[1] + FIRST_PRODUCED  # a view: no copy of size V
    return log_probabilities_of(tokens, logits), tokens


def largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` largest values of each row of `values` (R, V) and their indices, ties by lowest index."""
    count = min(count, values.size(1))
    if count == 1:
        best, places = values.max(dim=1, keepdim=True)  # ties: the lowest index
        return best, places
    # One value more than wanted shows whether ties with the last one were left out.
    best, places = _largest_of_groups(values, min(count + 1, values.size(1)))
    ties = (best[:, 1:] == best[:, :-1]) & (best[:, 1:] > -torch.inf)  # (R, C)
    best, places = best[:, :count], places[:, :count]
    rows = ties.any(dim=1).nonzero().squeeze(1)  # ties are rare in float32, frequent in half precision
    if len(rows):
        places[rows] = _lowest_of_equals(values[rows], best[rows], places[rows])
    return best, places


def _largest_of_groups(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the result of `topk`, found in the groups of columns with the largest maxima: faster than one long row."""
    columns = values.size(1) // _GROUP  # number of groups: one per column of the table
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
    """Return the indices `places` (R, C) of `best` (R, C) in `values` (R, V), with ties at the lowest indices."""
    count, size = best.size(1), values.size(1)
    last = best[:, -1:]  # (R, 1): only ties with it can be missing
    falling = torch.arange(size, 0, -1, device=values.device)  # (V,)
    equals = size - (falling * (values == last)).topk(count, dim=1).values  # (R, C) indices, lowest first
    larger = (best > last).sum(dim=1, keepdim=True)  # (R, 1)
    ranks = torch.arange(count, device=values.device)  # (C,)
    places = torch.where(ranks < larger, places, equals.gather(1, (ranks - larger).clamp(min=0)))
    ascending, order = places.sort(dim=1)
    return ascending.gather(1, best.gather(1, order).sort(dim=1, descending=True, stable=True).indices)


class EnsembleState(list[SearchState]):
    """The states of the models of an ensemble."""

    def select(self, rows: Tensor) -> None:
        """See `SearchState.select`."""
        for state in self:
            state.select(rows)


class Ensemble:
    """An ensemble: averages the next-token probabilities of models that share their vocabularies."""

    def __init__(self, models: Sequence[Any]) -> None:
        self._models = list(models)
        self.max_positions = min(model.max_positions for model in models)

    def start(self, source: Tensor, width: int = 1) -> EnsembleState:
        """See `SearchModel.start`."""
        return EnsembleState([model.start(source, width) for model in self._models])

    def step(self, tokens: Tensor, cache: EnsembleState) -> Tensor:
        """Return the log of the mean next-token probabilities (R, V); see `SearchModel.step`."""
        steps = zip(self._models, cache, strict=True)
        return log_mean_probabilities([model.step(tokens, state) for model, state in steps])

    def __call__(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return the log of the mean probabilities (B, T, V) by teacher forcing; see `Transformer.forward`."""
        return log_mean_probabilities([model(source, target_input) for model in self._models])


def log_mean_probabilities(logits: Sequence[Tensor]) -> Tensor:
    """Return log(mean(softmax(l) for l in logits)), (..., V) float32, computed in log space."""
    log_probabilities = torch.stack([tensor.float().log_softmax(dim=-1) for tensor in logits])
    return log_probabilities.logsumexp(dim=0) - math.log(len(logits))


@torch.inference_mode()
def score_targets(
    model: Callable[[Tensor, Tensor], Tensor], source: Tensor, targets: Rows, config: SearchConfig = _USUAL
) -> list[Hypothesis]:
    """Return each target as a finished hypothesis, scored by teacher forcing in float32 without a cache.

    Args:
        model: a `Transformer` in evaluation mode, or an `Ensemble`.
        source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
        targets: B targets, without SOS and EOS; UNK is scored like any other token.
        config: gives the length penalty of the normalized scores.

    Raises InputError: a target has more tokens than the model has positions.
    """
    found: dict[int, Hypothesis] = {}
    for numbers in alike([len(row) for row in targets], lambda longest: TARGET_POSITIONS_AT_ONCE // (longest + 1) or 1):
        longest = len(targets[numbers[0]]) + 1
        filled = [[*targets[number], EOS, *[PAD] * (longest - len(targets[number]) - 1)] for number in numbers]
        labels = torch.tensor(filled, device=source.device)  # (B, T)
        target_input = torch.cat((labels.new_full((len(labels), 1), SOS), labels[:, :-1]), dim=1)  # (B, T)
        target_input = target_input.masked_fill(target_input == EOS, PAD)  # positions after the end are ignored
        own = source[torch.tensor(numbers, device=source.device)]
        own = own[:, : int((own != PAD).sum(dim=1).max())]
        logits = model(own, target_input).float()  # (B, T, V)
        chosen = logits.gather(2, labels.unsqueeze(2)).squeeze(2) - logits.logsumexp(dim=2)  # (B, T)
        for number, scores in zip(numbers, chosen.tolist(), strict=True):
            row = targets[number]
            found[number] = Hypothesis.from_tokens(row, scores[: len(row) + 1], True, config)
    return [found[number] for number in range(len(targets))]
