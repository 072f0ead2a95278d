"""Greedy search: the likeliest token at every step.

B batch, R rows still being extended, S source length, V vocabulary
"""

from collections.abc import Sequence

from torch import Tensor

from translator.search.constraints import Constraint
from translator.search.continuations import FIRST_PRODUCED
from translator.search.hypothesis import Hypothesis
from translator.search.length_penalty import USUAL_PENALTY, LengthPenalty
from translator.search.model import SearchModel, State
from translator.search.single_path import follow_paths


def greedy_search(
    model: SearchModel[State],
    source: Tensor,
    max_lengths: Tensor,
    penalty: LengthPenalty = USUAL_PENALTY,
    constraints: Sequence[Constraint] = (),
) -> list[Hypothesis]:
    """Translate each row of `source`; of equally likely tokens, the one with the lowest id is taken.

    Args:
        model: what gives the probabilities.
        source: (B, S) int64 ids.
        max_lengths: (B,) int64, tokens that each row may grow to, EOS included; at least 1.
        penalty: of the normalized scores; it does not change what is found.
        constraints: on what may be produced.

    Returns:
        B hypotheses, in the order of the rows.
    """
    found = follow_paths(model, source, max_lengths, _likeliest, penalty, constraints=constraints)
    return [hypothesis for (hypothesis,) in found]


def _likeliest(logits: Tensor, forbidden: Tensor | None, sentences: Tensor, length: int) -> Tensor:
    """Return the likeliest token of each row; see `Choose`."""
    if forbidden is not None:
        return logits.masked_fill(forbidden, float("-inf")).max(dim=1).indices
    return logits[:, FIRST_PRODUCED:].max(dim=1).indices + FIRST_PRODUCED
