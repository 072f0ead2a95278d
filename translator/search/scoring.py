"""Scores: what a model gives, how hypotheses of different lengths compare, ensembles, rescoring of given targets.

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

TARGET_POSITIONS_AT_ONCE = 2_048  # of a batch of `score_targets`: each takes logits for the whole vocabulary
_USUAL: Final = SearchConfig()
_GROUP: Final = 20  # columns of a group in `largest`; groups of 10 to 80 differ little


class SearchState(Protocol):
    """What a model remembers of the rows of a search between two steps."""

    def select(self, rows: Tensor) -> None:
        """Reorder, repeat and drop rows: row i becomes what row `rows[i]` was, for `rows` (R',) int64.

        R' is a multiple of W; each run of W comes from the rows of one sentence, and sentences keep their order.
        """


State = TypeVar("State", bound=SearchState)


class SearchModel(Protocol[State]):
    """A model that gives the next token's probabilities, one step at a time; a `Transformer`, or any other."""

    @property
    def max_positions(self) -> int:
        """Steps that it can take at most."""

    def start(self, source: Tensor, width: int = 1) -> State:
        """Return the state before the first step, for `source` (B, S) int64 and `width` = W rows a sentence."""

    def step(self, tokens: Tensor, cache: State, /) -> Tensor:
        """Take in `tokens` (R,) int64, SOS first, and return the logits (R, V) of the tokens that follow."""


def output_lengths(
    source: Tensor, config: SearchConfig, max_positions: int, prefixes: Rows | None = None
) -> tuple[Tensor, Tensor]:
    """Return the shortest and the longest output of each row of `source` (B, S), (B,) int64 tokens with EOS each.

    They are the ratios of `config` times the tokens of the source, rounded down; the longest has ten more, and room for
    ten after a forced prefix, within the positions of the model. The shortest is at most the longest.
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
    """Return the log-probabilities and ids, (R, C) each, of the `count` likeliest next tokens, best first.

    The log-probabilities are those of the whole distribution, in float32 whatever the type of the logits; forbidden
    tokens have -inf. Of equal ones the lowest ids come first. C is `count`, or as many as may ever be produced.
    `forbidden` is (R, V) bool, True = may not follow; None forbids PAD, UNK and SOS.
    """
    logits = logits.float()
    if forbidden is not None:
        best, tokens = largest(logits.masked_fill(forbidden, -torch.inf), count)
        return log_probabilities_of(tokens, logits).masked_fill(best == -torch.inf, -torch.inf), tokens
    tokens = largest(logits[:, FIRST_PRODUCED:], count)[1] + FIRST_PRODUCED  # of a view: nothing of size V is copied
    return log_probabilities_of(tokens, logits), tokens


def largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` largest of each row of `values` (R, V) and their places, equal ones in order of place."""
    count = min(count, values.size(1))
    if count == 1:
        best, places = values.max(dim=1, keepdim=True)  # the first of equal ones
        return best, places
    # One more than wanted shows whether equals of the last one wanted were left out.
    best, places = _largest_of_groups(values, min(count + 1, values.size(1)))
    ties = (best[:, 1:] == best[:, :-1]) & (best[:, 1:] > -torch.inf)  # (R, C)
    best, places = best[:, :count], places[:, :count]
    rows = ties.any(dim=1).nonzero().squeeze(1)  # few in float32, many in half precision
    if len(rows):
        places[rows] = _lowest_of_equals(values[rows], best[rows], places[rows])
    return best, places


def _largest_of_groups(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return what `topk` returns, from the groups of columns with the largest maxima: two short rows sort faster."""
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


class EnsembleState(list[SearchState]):
    """The states of the models of an ensemble."""

    def select(self, rows: Tensor) -> None:
        """See `SearchState.select`."""
        for state in self:
            state.select(rows)


class Ensemble:
    """A model whose next-token probabilities are the mean of those of its models, which share their vocabularies."""

    def __init__(self, models: Sequence[Any]) -> None:
        self._models = list(models)
        self.max_positions = min(model.max_positions for model in models)

    def start(self, source: Tensor, width: int = 1) -> EnsembleState:
        """See `SearchModel.start`."""
        return EnsembleState([model.start(source, width) for model in self._models])

    def step(self, tokens: Tensor, cache: EnsembleState) -> Tensor:
        """Return the logarithms (R, V) of the mean probabilities of the tokens that follow; see `SearchModel.step`."""
        steps = zip(self._models, cache, strict=True)
        return log_mean_probabilities([model.step(tokens, state) for model, state in steps])

    def __call__(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return the logarithms (B, T, V) of the mean probabilities, by teacher forcing; see `Transformer.forward`."""
        return log_mean_probabilities([model(source, target_input) for model in self._models])


def log_mean_probabilities(logits: Sequence[Tensor]) -> Tensor:
    """Return log(mean(softmax(l) for l in logits)), (..., V) float32, without leaving the logarithms."""
    log_probabilities = torch.stack([tensor.float().log_softmax(dim=-1) for tensor in logits])
    return log_probabilities.logsumexp(dim=0) - math.log(len(logits))


@torch.inference_mode()
def score_targets(
    model: Callable[[Tensor, Tensor], Tensor], source: Tensor, targets: Rows, config: SearchConfig = _USUAL
) -> list[Hypothesis]:
    """Return each target as the finished hypothesis that a search would have found, scored in float32 without a cache.

    Args:
        model: a `Transformer` in evaluation mode, or an `Ensemble`.
        source: (B, S) int64 ids, EOS at the end, filled with PAD.
        targets: B targets, without SOS and EOS; UNK is scored as the token it is.
        config: has the length penalty of the normalized scores.

    Raises InputError: a target has more tokens than the model has positions.
    """
    found: dict[int, Hypothesis] = {}
    for numbers in alike([len(row) for row in targets], lambda longest: TARGET_POSITIONS_AT_ONCE // (longest + 1) or 1):
        longest = len(targets[numbers[0]]) + 1
        filled = [[*targets[number], EOS, *[PAD] * (longest - len(targets[number]) - 1)] for number in numbers]
        labels = torch.tensor(filled, device=source.device)  # (B, T)
        target_input = torch.cat((labels.new_full((len(labels), 1), SOS), labels[:, :-1]), dim=1)  # (B, T)
        target_input = target_input.masked_fill(target_input == EOS, PAD)  # what follows the end does not matter
        own = source[torch.tensor(numbers, device=source.device)]
        own = own[:, : int((own != PAD).sum(dim=1).max())]
        logits = model(own, target_input).float()  # (B, T, V)
        chosen = logits.gather(2, labels.unsqueeze(2)).squeeze(2) - logits.logsumexp(dim=2)  # (B, T)
        for number, scores in zip(numbers, chosen.tolist(), strict=True):
            row = targets[number]
            found[number] = Hypothesis.from_tokens(row, scores[: len(row) + 1], True, config)
    return [found[number] for number in range(len(targets))]
