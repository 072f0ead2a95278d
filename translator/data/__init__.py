"""From clean text to batches: token stores, mixture, sampling, batching, and `DataHandler`, the public interface."""

from translator.data.batch import Batch, StepBatches, collate, collate_source
from translator.data.batching import DataPosition, MixtureRow, plan_batches
from translator.data.handler import DataHandler
from translator.data.report import preparation_report, write_preparation_report

__all__ = ["Batch", "DataHandler", "DataPosition", "MixtureRow", "StepBatches", "collate", "collate_source"]
__all__ += ["plan_batches", "preparation_report", "write_preparation_report"]
