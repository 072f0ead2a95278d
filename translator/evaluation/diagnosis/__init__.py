"""Diagnosis: mistakes of a system that can be counted, each with its meaning and with sentences to look at."""

from translator.evaluation.diagnosis.diagnose import Diagnosis, diagnose
from translator.evaluation.diagnosis.finding import Agreement, Example, Finding
from translator.evaluation.diagnosis.table import format_diagnosis

__all__ = ["Agreement", "Diagnosis", "Example", "Finding", "diagnose", "format_diagnosis"]
