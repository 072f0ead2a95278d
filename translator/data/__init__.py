"""From clean text to batches: token stores, batching, and `DataHandler`, the face of this room."""

from translator.data.batch import Batch, collate, collate_source
from translator.data.batching import DataPosition, plan_batches
from translator.data.handler import DataHandler
from translator.data.length_report import LengthReport

__all__ = ["Batch", "DataHandler", "DataPosition", "LengthReport", "collate", "collate_source", "plan_batches"]
