"""Evaluation: scores with signatures and intervals, translations, what is wrong in them, comparison, a report."""

from translator.evaluation.evaluate import evaluate_run, evaluate_systems
from translator.evaluation.metrics import Score, compute_scores
from translator.evaluation.outcome import Evaluation
from translator.evaluation.score_file import saved_scores
from translator.evaluation.scored_set import ScoredSet, read_scored_set, write_scored_set
from translator.evaluation.summary import TranslatedPair
from translator.evaluation.system import System, search_label

__all__ = [
    "Evaluation",
    "Score",
    "ScoredSet",
    "System",
    "TranslatedPair",
    "compute_scores",
    "evaluate_run",
    "evaluate_systems",
    "read_scored_set",
    "saved_scores",
    "search_label",
    "write_scored_set",
]
