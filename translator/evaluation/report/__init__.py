"""The report of an evaluation: one page for a browser with scores, plots and every sentence."""

from translator.evaluation.report.learning_curve import LearningCurve, read_learning_curve
from translator.evaluation.report.page import evaluation_page

__all__ = ["LearningCurve", "evaluation_page", "read_learning_curve"]
