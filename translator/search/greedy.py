"""Greedy search: the most likely token at each step.

B sentences, R rows of unfinished sentences, S source length, V vocabulary
"""

import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.search.constraints import Constraints
from translator.search.hypothesis import FIRST_PRODUCED, Hypothesis
from translator.search.paths import follow_paths
from translator.search.search_model import SearchModel, State


def greedy_search(
    model: SearchModel[State],
    source: Tensor,
    longest: Tensor,
    config: SearchConfig,
    constraints: Constraints | None = None,
) -> list[list[Hypothesis]]:
    """Return a list with one hypothesis for each row of `source`, in the order of the rows.

    Args:
        model: a `Transformer` in evaluation mode, an `Ensemble`, or any other `SearchModel`.
        source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
        longest: (B,) int64, maximum output length in tokens, EOS included; at least 1.
        config: gives the length penalty.
        constraints: what an output may not say; None forbids PAD, UNK and SOS.
    """
    return follow_paths(model, source, longest, likeliest_tokens, config, constraints=constraints)


def likeliest_tokens(logits: Tensor, forbidden: Tensor | None, sentences: Tensor, length: int) -> Tensor:
    """Return the most likely token (R,) of each row of `logits` (R, V); ties go to the lowest id. See `ChooseTokens`.

    `forbidden` is (R, V) bool, True = forbidden; None forbids PAD, UNK and SOS. The other arguments do not matter.
    """
    if forbidden is not None:
        return logits.masked_fill(forbidden, -torch.inf).max(dim=1).indices
    return logits[:, FIRST_PRODUCED:].max(dim=1).indices + FIRST_PRODUCED
