"""Evaluation: scores with signatures and intervals, significance tests, counted mistakes, and a report."""

from translator.evaluation.evaluate import Evaluation, System, as_evaluated, evaluate_run, evaluate_systems
from translator.evaluation.metrics import Score, compute_scores
from translator.evaluation.results import ScoredSet, saved_scores
from translator.evaluation.search_labels import search_label
from translator.evaluation.terminal_report import TranslatedPair

__all__ = ["Evaluation", "Score", "ScoredSet", "System", "TranslatedPair", "compute_scores", "evaluate_run"]
__all__ += ["as_evaluated", "evaluate_systems", "saved_scores", "search_label"]
