"""From clean text to batches: token stores, mixture, augmentation, the text and the plan of an epoch, `DataHandler`."""

from translator.data.handler import DataHandler
from translator.data.training_batches import DataPosition

__all__ = ["DataHandler", "DataPosition"]
