"""Evaluation: scores with signatures and intervals, significance tests, diagnosis of translations, and a report."""

from translator.evaluation.evaluate import Evaluation, evaluate_run, evaluate_systems
from translator.evaluation.metrics import Score, compute_scores
from translator.evaluation.results import ScoredSet, read_scored_set, saved_scores, write_scored_set
from translator.evaluation.search_labels import search_label
from translator.evaluation.systems import System
from translator.evaluation.terminal_report import TranslatedPair

__all__ = ["Evaluation", "Score", "ScoredSet", "System", "TranslatedPair", "compute_scores", "evaluate_run"]
__all__ += ["evaluate_systems", "read_scored_set", "saved_scores", "search_label", "write_scored_set"]
