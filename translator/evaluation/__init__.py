"""Evaluation: scores with signatures and intervals, significance tests, counted mistakes, and a report."""

from translator.evaluation.evaluate import Evaluation, System, evaluate_systems, evaluated_search
from translator.evaluation.metrics import Score, compute_scores
from translator.evaluation.results import ScoredSet, saved_scores
from translator.evaluation.search_labels import search_label
from translator.evaluation.terminal_report import TranslatedPair

__all__ = ["Evaluation", "Score", "ScoredSet", "System", "TranslatedPair", "compute_scores", "evaluate_systems"]
__all__ += ["evaluated_search", "saved_scores", "search_label"]
