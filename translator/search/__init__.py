"""Search: picking a target sequence from a model's probabilities, for whole batches."""

from torch import Tensor

from translator.config import SearchConfig
from translator.search.beam import beam_search
from translator.search.greedy import greedy_search
from translator.search.hypothesis import Hypothesis
from translator.search.model import SearchModel, SearchState, State
from translator.special_tokens import PAD

__all__ = [
    "Hypothesis",
    "SearchModel",
    "SearchState",
    "beam_search",
    "greedy_search",
    "longest_outputs",
    "search",
]

EXTRA_LENGTH = 10
"""Tokens that an output may have beyond its share of the source's."""


def search(model: SearchModel[State], source: Tensor, config: SearchConfig) -> list[Hypothesis]:
    """Return the best hypothesis for each row of `source` (B, S) int64, in the order of the rows."""
    limits = longest_outputs(source, config.max_length_ratio, model.max_positions)
    if config.method == "greedy":
        return greedy_search(model, source, limits, config.length_penalty)
    return [hypotheses[0] for hypotheses in beam_search(model, source, limits, config.beam_size, config.length_penalty)]


def longest_outputs(source: Tensor, ratio: float, max_positions: int) -> Tensor:
    """Return (B,) int64, the tokens (EOS included) that each output may have.

    That is `ratio` times the tokens of the source, rounded down, and ten more, within the positions of the model.

    Args:
        source: (B, S) int64 ids, filled with PAD.
        ratio: target tokens per source token.
        max_positions: longest sequence that the model knows.
    """
    tokens = (source != PAD).sum(dim=1)  # (B,)
    return ((tokens.double() * ratio).long() + EXTRA_LENGTH).clamp(max=max_positions)
