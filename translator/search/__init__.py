"""Search: picking target sequences from a model's probabilities, for whole batches."""

from translator.search.beam import beam_search
from translator.search.ensemble import Ensemble
from translator.search.greedy import greedy_search
from translator.search.hypothesis import Hypothesis
from translator.search.length_penalty import AveragePenalty, GnmtPenalty, LengthPenalty
from translator.search.lengths import longest_outputs
from translator.search.methods import check_count, search
from translator.search.model import SearchModel, SearchState, TeacherForcedModel, TranslationModel
from translator.search.rescore import score_targets
from translator.search.sampling import Distribution, sample

__all__ = [
    "AveragePenalty",
    "Distribution",
    "Ensemble",
    "GnmtPenalty",
    "Hypothesis",
    "LengthPenalty",
    "SearchModel",
    "SearchState",
    "TeacherForcedModel",
    "TranslationModel",
    "beam_search",
    "check_count",
    "greedy_search",
    "longest_outputs",
    "sample",
    "score_targets",
    "search",
]
