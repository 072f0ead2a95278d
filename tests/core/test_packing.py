"""Packing: every pair once, within the row, hardly any PAD, decided by the generator."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from translator.core.batch import Numbers
from translator.core.packing import RowPlan, plan_rows

ROW_LENGTH = 64
LENGTHS = st.lists(st.tuples(st.integers(1, ROW_LENGTH), st.integers(1, ROW_LENGTH)), max_size=300)


def plan_of(source: Numbers, target: Numbers, row_length: int = ROW_LENGTH, seed: int = 0) -> RowPlan:
    return plan_rows(source, target, row_length, np.random.default_rng(seed))


def rows_of(plan: RowPlan) -> list[Numbers]:
    return [plan.pairs_of(row, row + 1) for row in range(len(plan))]


def lengths_like_text(count: int, longest: int) -> tuple[Numbers, Numbers]:
    """Lengths of both sides as parallel text has them: log-normal, correlated, not equal."""
    generator = np.random.default_rng(0)
    source = np.exp(generator.normal(2.9, 0.6, count))
    target = source * np.exp(generator.normal(0.1, 0.2, count))
    return np.clip(source, 2, longest).astype(np.int64), np.clip(target, 2, longest).astype(np.int64)


@given(pairs=LENGTHS, seed=st.integers(0, 2**32))
def test_every_pair_is_in_one_row_and_no_row_is_empty_or_too_long(pairs: list[tuple[int, int]], seed: int) -> None:
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    plan = plan_of(source, target, seed=seed)
    assert sorted(plan.pairs.tolist()) == list(range(len(pairs)))
    for row in rows_of(plan):
        assert len(row) > 0
        assert source[row].sum() <= ROW_LENGTH
        assert target[row].sum() <= ROW_LENGTH


def test_the_rows_of_given_lengths_never_change() -> None:
    # Resuming a run after an upgrade needs the very same rows; other rows need another PLAN_VERSION.
    source = np.array([3, 3, 4, 9, 9, 10, 3, 4, 10, 20])
    target = np.array([3, 4, 4, 9, 10, 10, 3, 4, 9, 20])
    rows = rows_of(plan_of(source, target, row_length=20))
    assert [row.tolist() for row in rows] == [[9], [4, 6, 2, 0], [5, 8], [7, 3, 1]]


def test_rows_of_text_are_at_least_95_percent_full_and_neighbours_a_random_sample_of_lengths() -> None:
    source, target = lengths_like_text(50_000, 128)
    plan = plan_of(source, target, 128)
    assert max(source.sum(), target.sum()) >= 0.95 * 128 * len(plan)

    neighbours = 256
    mean_lengths = []
    for first in range(0, len(plan) - neighbours, neighbours):
        pairs = plan.pairs_of(first, first + neighbours)
        mean_lengths.append(source[pairs].mean())
    assert np.std(mean_lengths) < 0.05 * source.mean()
