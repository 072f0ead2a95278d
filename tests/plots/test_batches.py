"""How the batches of a recipe are filled, counted another way, and the picture of it."""

from typing import Any

import numpy as np
from plots.drawn import points

from translator.data import DataHandler
from translator.plots.batch_fill import BatchFill, measure_batches
from translator.plots.batches import batches_figure, buckets_of

FILL = BatchFill(
    budget=20,
    rows=np.array([5, 2, 1]),
    source_length=np.array([2, 10, 13]),
    target_length=np.array([4, 9, 14]),
    source_tokens=np.array([9, 15, 13]),
    target_tokens=np.array([18, 18, 14]),
    whole_epoch=True,
)


def test_an_epoch_holds_every_pair_and_every_token(tiny: Any) -> None:
    config = tiny()
    fill, data = measure_batches(config), DataHandler(config)
    assert fill.whole_epoch
    assert int(fill.rows.sum()) == data.pair_count("train")
    tokens = sum(row.source_tokens + row.target_tokens for row in data.report if row.split == "train")
    assert int((fill.source_tokens + fill.target_tokens).sum()) in (tokens, tokens + 2 * data.pair_count("train"))
    assert (fill.rows * fill.longest <= config.batching.tokens_per_batch).all()
    assert (fill.padding >= 0).all()


def test_of_a_long_epoch_only_the_beginning_is_looked_at(tiny: Any) -> None:
    config = tiny()
    fill = measure_batches(config, most=2)
    assert not fill.whole_epoch
    assert np.array_equal(fill.rows, measure_batches(config).rows[:2])
    assert "the first 2 batches" in batches_figure(fill, "tiny").get_suptitle()


def test_padding_is_what_is_no_token() -> None:
    assert FILL.positions.tolist() == [30, 38, 27]
    assert FILL.padding.tolist() == [3, 5, 0]
    assert FILL.longest.tolist() == [4, 10, 14]


def test_buckets_hold_means_and_leave_out_what_is_empty() -> None:
    first, second, third = buckets_of(FILL)
    assert [(bucket.first, bucket.last, bucket.batches) for bucket in (first, second, third)] == [
        (4, 4, 1),
        (10, 10, 1),
        (14, 14, 1),
    ]
    assert (second.source, second.target, second.padding) == (15, 18, 5)
    one, far = np.array([1, 1]), np.array([1, 100])
    wide = BatchFill(9, one, one, far, one, far, True)
    assert [(bucket.first, bucket.last) for bucket in buckets_of(wide)] == [(1, 9), (100, 100)]
    assert sum(bucket.batches for bucket in buckets_of(wide)) == 2


def test_the_picture_shows_batches_below_their_budget_and_what_they_hold() -> None:
    figure = batches_figure(FILL, "تست")
    rows, content = figure.axes
    assert np.array_equal(rows.collections[0].get_offsets(), [(4, 5), (10, 2), (14, 1)])
    assert all([length, 20 / length] in points(rows.lines[0]) for length in (4, 10, 14))
    bars = [[bar.get_height() for bar in bars] for bars in content.containers]
    assert bars == [[9, 15, 13], [18, 18, 14], [3, 5, 0]]
    assert [bar.get_y() for bar in content.containers[2]] == [27, 33, 27]
    assert [text.get_text() for text in content.get_xticklabels()] == ["4", "10", "14"]
    assert figure.get_suptitle().endswith(f"{8 / 95:.1%} of all positions are padding")
    assert rows.get_xlabel() == content.get_xlabel() == "longest row of the batch, tokens"
