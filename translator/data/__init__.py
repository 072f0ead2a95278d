"""From clean text to batches: token stores, mixture, sampling, batching, and `DataHandler`, the face of this room."""

from translator.data.batch import Batch, StepBatches, collate, collate_source
from translator.data.batching import DataPosition, plan_batches
from translator.data.handler import DataHandler
from translator.data.length_report import LengthReport
from translator.data.mixture import MixtureRow, format_mixture
from translator.data.preparation_report import PreparationReport, preparation_report, write_preparation_report

__all__ = [
    "Batch",
    "DataHandler",
    "DataPosition",
    "LengthReport",
    "MixtureRow",
    "PreparationReport",
    "StepBatches",
    "collate",
    "collate_source",
    "format_mixture",
    "plan_batches",
    "preparation_report",
    "write_preparation_report",
]
