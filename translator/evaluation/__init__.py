"""Evaluation: scores with signatures, translations of the test sets, a summary to read."""

from translator.evaluation.evaluate import Evaluation, evaluate_run, search_label
from translator.evaluation.metrics import Score, compute_scores
from translator.evaluation.score_file import saved_scores
from translator.evaluation.summary import TranslatedPair

__all__ = ["Evaluation", "Score", "TranslatedPair", "compute_scores", "evaluate_run", "saved_scores", "search_label"]
