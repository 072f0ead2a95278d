"""From clean text to batches: token stores, mixture, augmentation, the text and the plan of an epoch, `DataHandler`."""

from translator.core.batch import Batch, StepBatches, collate_rows, collate_source
from translator.data.handler import DataHandler
from translator.data.training_batches import DataPosition

__all__ = [
    "Batch",
    "DataHandler",
    "DataPosition",
    "StepBatches",
    "collate_rows",
    "collate_source",
]
