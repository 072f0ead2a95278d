"""How the batches of a recipe are filled: what of their positions is text, and what is padding."""

import contextlib
import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from translator.config import Config
from translator.data import DataHandler, DataPosition

MOST_BATCHES: Final = 4000
"""Batches that are looked at; they come in random order, so that the first ones speak for all."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BatchFill:
    """Batches of one epoch, one entry for each; lengths count EOS."""

    budget: int
    """`batching.tokens_per_batch`: rows times the longest row of either side never exceed it."""
    rows: Numbers
    """Pairs."""
    source_length: Numbers
    """Longest source."""
    target_length: Numbers
    """Longest target."""
    source_tokens: Numbers
    """Real tokens of all sources together."""
    target_tokens: Numbers
    """Real tokens of all targets together."""
    whole_epoch: bool
    """Whether these are all batches of the epoch."""

    @property
    def longest(self) -> Numbers:
        """The longest row of either side."""
        return np.maximum(self.source_length, self.target_length)

    @property
    def positions(self) -> Numbers:
        """Positions of both sides, padding included."""
        return self.rows * (self.source_length + self.target_length)

    @property
    def padding(self) -> Numbers:
        """Positions of both sides that hold no token."""
        return self.positions - self.source_tokens - self.target_tokens


def measure_batches(config: Config, most: int = MOST_BATCHES) -> BatchFill:
    """Return the batches that training begins with, at most `most`; what is not prepared yet is prepared.

    Args:
        config: the recipe.
        most: batches that are looked at.

    Raises:
        CorpusError: the corpus cannot be used.
        SubwordError: the corpus does not allow the subword settings.
        StorageError: the disk is full or may not be written.
    """
    data = DataHandler(config)
    found, ended = [], False
    with contextlib.closing(data.train_batches(DataPosition())) as batches:
        for batch, position in itertools.islice(batches, most):
            shapes = (*batch.source.shape, batch.labels.shape[1])
            found.append((*shapes, batch.source_tokens, batch.target_tokens))
            if position.epoch > 0:
                ended = True
                break
    rows, source_length, target_length, source_tokens, target_tokens = np.array(found, dtype=np.int64).T
    return BatchFill(
        config.batching.tokens_per_batch, rows, source_length, target_length, source_tokens, target_tokens, ended
    )
