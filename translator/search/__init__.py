"""Search: picking target sequences from a model's probabilities, for whole batches."""

from translator.search.algorithms import beam_search, check_count, follow_paths, likeliest, search
from translator.search.scoring import (
    Ensemble,
    Hypothesis,
    Rows,
    SearchModel,
    State,
    length_penalty,
    output_lengths,
    score_targets,
)

__all__ = ["Ensemble", "Hypothesis", "Rows", "SearchModel", "State", "beam_search", "check_count", "follow_paths"]
__all__ += ["length_penalty", "likeliest", "output_lengths", "score_targets", "search"]
