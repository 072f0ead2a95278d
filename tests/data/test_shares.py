"""The shares of a step: the step's rows, each once, however many processes there are, and about equal."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from translator.data.batching import Numbers
from translator.data.pair_store import Ids
from translator.data.shares import Rows, share_step


@dataclass(frozen=True)
class Lengths:
    """Pairs of which only the lengths are known: nothing may be read to share a step."""

    source_lengths: NDArray[np.int32]
    target_lengths: NDArray[np.int32]

    def __getitem__(self, number: int) -> tuple[Ids, Ids]:
        raise AssertionError("a pair was read")


def step_of(*batches: list[tuple[int, int]]) -> list[Rows]:
    """Return batches of pairs with these lengths, numbered through."""
    lengths = np.array(list(itertools.chain.from_iterable(batches)), np.int32)
    pairs = Lengths(lengths[:, 0], lengths[:, 1])
    ends = np.cumsum([len(batch) for batch in batches])
    return [Rows(pairs, numbers) for numbers in np.split(np.arange(ends[-1]), ends[:-1])]


def cost_of(share: list[Rows]) -> int:
    return sum(rows.source_tokens + 2 * rows.target_tokens for rows in share)


def numbers_of(share: list[Rows]) -> list[list[int]]:
    return [rows.numbers.tolist() for rows in share]


PAIR = st.tuples(st.integers(1, 60), st.integers(1, 60))
STEPS = st.lists(st.lists(PAIR, min_size=1, max_size=12), min_size=1, max_size=9)


@given(batches=STEPS, world=st.integers(1, 7))
def test_all_shares_together_are_the_step(batches: list[list[tuple[int, int]]], world: int) -> None:
    step = step_of(*batches)
    shares = share_step(step, world)
    assert len(shares) == world
    everything = list(itertools.chain.from_iterable(shares))
    seen = np.concatenate([rows.numbers for rows in everything])
    assert sorted(seen.tolist()) == list(range(sum(map(len, batches))))
    assert all(len(rows.numbers) for rows in everything)
    assert sum(rows.source_tokens for rows in everything) == sum(s for batch in batches for s, _ in batch)
    assert sum(rows.target_tokens for rows in everything) == sum(t for batch in batches for _, t in batch)


@given(batches=STEPS, world=st.integers(1, 7))
def test_no_share_is_further_from_an_equal_one_than_its_costliest_pair(
    batches: list[list[tuple[int, int]]], world: int
) -> None:
    costs = [cost_of([rows]) for rows in step_of(*[[pair] for batch in batches for pair in batch])]
    for share in share_step(step_of(*batches), world):
        assert abs(cost_of(share) - sum(costs) / world) <= max(costs)


@given(batches=STEPS, world=st.integers(1, 7))
def test_each_share_is_the_next_part_of_the_line_in_one_piece_of_each_batch(
    batches: list[list[tuple[int, int]]], world: int
) -> None:
    step = step_of(*batches)
    shares = share_step(step, world)
    line = [number for share in shares for piece in numbers_of(share) for number in piece]
    assert line == list(range(len(line)))
    owners = {number: place for place, rows in enumerate(step) for number in rows.numbers.tolist()}
    for share in shares:
        places = [{owners[number] for number in piece} for piece in numbers_of(share)]
        assert all(len(one) == 1 for one in places), "a piece is of one batch"
        assert len(set().union(*places)) == len(places), "a batch gives a process one piece"
    assert [numbers_of(share) for share in share_step(step, world)] == [numbers_of(share) for share in shares]


@given(batches=STEPS)
def test_one_process_computes_the_batches_as_they_are(batches: list[list[tuple[int, int]]]) -> None:
    step = step_of(*batches)
    (share,) = share_step(step, 1)
    assert len(share) == len(step)
    assert all(ours is whole for ours, whole in zip(share, step, strict=True))


def test_a_batch_is_cut_only_where_a_border_falls() -> None:
    step = step_of(*[[(2, 2)] * 4 for _ in range(5)])
    first, second = share_step(step, 2)
    assert numbers_of(first) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert numbers_of(second) == [[10, 11], [12, 13, 14, 15], [16, 17, 18, 19]]


def test_batches_of_equal_cost_stay_whole() -> None:
    step = step_of(*[[(3, 2)] * 4 for _ in range(6)])
    for world in (2, 3, 6):
        assert [len(share) for share in share_step(step, world)] == [6 // world] * world


def test_a_target_token_weighs_two() -> None:
    first, second = share_step(step_of([(1, 8), (10, 1), (9, 1)]), 2)
    assert numbers_of(first) == [[0]] and numbers_of(second) == [[1, 2]]
    first, second = share_step(step_of([(8, 1), (1, 10), (1, 9)]), 2)
    assert numbers_of(first) == [[0, 1]] and numbers_of(second) == [[2]]


def test_a_single_row_leaves_the_others_nothing() -> None:
    shares = share_step(step_of([(3, 4)]), 3)
    assert sorted(map(len, shares)) == [0, 0, 1]


@pytest.mark.parametrize(("lengths", "positions"), [([(3, 4)], 7), ([(3, 4), (5, 1)], 18)])
def test_positions_count_the_padding(lengths: list[tuple[int, int]], positions: int) -> None:
    assert step_of(lengths)[0].positions == positions


def test_long_corpora_do_not_overflow() -> None:
    numbers: Numbers = np.arange(70_000)
    long = np.full(70_000, 40_000, np.int32)  # 5.6e9 tokens
    first, second = share_step([Rows(Lengths(long, long), numbers)], 2)
    assert len(first[0].numbers) == len(second[0].numbers) == 35_000
    assert first[0].target_tokens == 35_000 * 40_000
