"""The rows of an epoch hold every pair, and their picture shows how full they are."""

from typing import Any

import numpy as np

from translator.data import DataHandler
from translator.plots.epoch_rows import EpochRows, epoch_rows


def test_the_rows_of_an_epoch_hold_every_pair_once(tiny: Any) -> None:
    config = tiny()
    rows = epoch_rows(config)
    pair_count = DataHandler(config).pair_count("train")
    assert rows.source_sentence.max(axis=1).sum() == pair_count
    assert rows.target_sentence.max(axis=1).sum() == pair_count


def test_fullness_is_the_share_of_tokens_in_each_row() -> None:
    rows = EpochRows(
        source_sentence=np.array([[1, 1, 2, 0], [1, 0, 0, 0]]),
        target_sentence=np.array([[1, 2, 2, 2], [1, 1, 0, 0]]),
    )
    assert rows.fullness().tolist() == [[0.75, 0.25], [1.0, 0.5]]


def test_drawn_rows_are_spread_over_the_epoch() -> None:
    numbers = np.arange(1, 10)[:, None]
    assert EpochRows(numbers, numbers).spread(3).source_sentence.tolist() == [[1], [5], [9]]
