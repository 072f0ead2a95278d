"""From clean text to batches: token stores, mixture, sampling, packing into rows, and `DataHandler`."""

from translator.data.batch import Batch, DataPosition, StepBatches, collate_rows, collate_source
from translator.data.handler import DataHandler
from translator.data.mixture import MixtureRow
from translator.data.packing import RowPlan, plan_rows

__all__ = [
    "Batch",
    "DataHandler",
    "DataPosition",
    "MixtureRow",
    "RowPlan",
    "StepBatches",
    "collate_rows",
    "collate_source",
    "plan_rows",
]
