"""Planning batches: every pair once, within the budget, with little padding, as the seed says."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.data.batching import DataPosition, Numbers, epoch_generator, plan_batches

LENGTHS = st.lists(st.tuples(st.integers(1, 64), st.integers(1, 64)), max_size=300)


def plan(source: Numbers, target: Numbers, budget: int = 512, rows: int | None = None, seed: int = 0) -> list[Numbers]:
    """Plan with a generator made of `seed`."""
    return plan_batches(source, target, tokens_per_batch=budget, max_sentences=rows, generator=epoch_generator(seed, 0))


def lengths_like_text(count: int, seed: int = 0) -> tuple[Numbers, Numbers]:
    """Return lengths of both sides as parallel text has them: log-normal, correlated, not equal."""
    generator = np.random.default_rng(seed)
    source = np.clip(np.exp(generator.normal(2.9, 0.6, count)), 2, 200)
    target = np.clip(source * np.exp(generator.normal(0.1, 0.2, count)), 2, 200)
    return source.astype(np.int64), target.astype(np.int64)


def padding(batches: list[Numbers], source: Numbers, target: Numbers) -> float:
    """Return the share of padding in source and target together."""
    positions = sum(len(batch) * (source[batch].max() + target[batch].max()) for batch in batches)
    return 1.0 - float((source.sum() + target.sum()) / positions)


@settings(deadline=None, max_examples=200)
@given(pairs=LENGTHS, budget=st.integers(64, 700), rows=st.none() | st.integers(1, 20), seed=st.integers(0, 2**32))
def test_every_pair_once_and_no_batch_over_the_budget(
    pairs: list[tuple[int, int]], budget: int, rows: int | None, seed: int
) -> None:
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    batches = plan(source, target, budget, rows, seed)
    assert sorted(itertools.chain.from_iterable(batch.tolist() for batch in batches)) == list(range(len(pairs)))
    for batch in batches:
        assert len(batch) * max(source[batch].max(), target[batch].max()) <= budget
        assert rows is None or len(batch) <= rows


def test_the_plan_is_a_function_of_seed_and_epoch() -> None:
    source, target = lengths_like_text(2000)

    def order(seed: int, epoch: int) -> list[list[int]]:
        generator = epoch_generator(seed, epoch)
        found = plan_batches(source, target, tokens_per_batch=1024, max_sentences=None, generator=generator)
        return [batch.tolist() for batch in found]

    assert order(1, 0) == order(1, 0)
    assert len({str(order(seed, epoch)) for seed in (1, 2) for epoch in (0, 1)}) == 4
    one, other = ({frozenset(batch) for batch in order(1, epoch)} for epoch in (0, 1))
    assert len(one & other) < len(one) / 2, "the same pairs go together in every epoch"


def test_a_known_plan_stays_what_it_is() -> None:
    # Resuming an old run after an upgrade needs the very same batches; a change here must be on purpose.
    source = np.array([3, 3, 4, 9, 9, 10, 3, 4, 10, 30])
    target = np.array([3, 4, 4, 9, 10, 10, 3, 4, 9, 30])
    assert [batch.tolist() for batch in plan(source, target, 100)] == [[9], [6, 0, 2, 7], [3, 1, 4, 5, 8]]


def test_large_text_gives_full_batches_with_hardly_any_padding() -> None:
    source, target = lengths_like_text(200_000)
    batches = plan(source, target, 4096)
    filled = [len(batch) * max(source[batch].max(), target[batch].max()) / 4096 for batch in batches]
    assert max(filled) <= 1
    assert padding(batches, source, target) < 0.015
    assert float(np.mean(filled)) > 0.85


def test_both_sides_are_looked_at() -> None:
    source, target = lengths_like_text(30_000)
    order = np.argsort(target, kind="stable")
    by_target = np.array_split(order, 200)
    assert padding(by_target, source, target) > 0.1
    assert padding(plan(source, target, 4096), source, target) < 0.04


def test_tiny_batches_are_rare() -> None:
    source, target = lengths_like_text(30_000)
    batches = plan(source, target, 4096)
    filled = np.array([len(batch) * max(source[batch].max(), target[batch].max()) / 4096 for batch in batches])
    assert float((filled < 0.25).mean()) < 0.02


def test_batches_come_in_random_order_of_length() -> None:
    source, target = lengths_like_text(30_000)
    means = [float(target[batch].mean()) for batch in plan(source, target, 4096)]
    assert abs(float(np.corrcoef(means, np.arange(len(means)))[0, 1])) < 0.3


def test_equal_lengths_fill_batches_to_the_brim() -> None:
    lengths = np.full(1000, 10)
    sizes = sorted(len(batch) for batch in plan(lengths, lengths, 100))
    assert sizes == [10] * 100


def test_a_pair_longer_than_the_budget_is_a_bug_of_the_caller() -> None:
    with pytest.raises(AssertionError):
        plan(np.array([65]), np.array([3]), 64)


def test_no_pairs_make_no_batches() -> None:
    assert plan(np.zeros(0, np.int64), np.zeros(0, np.int64)) == []


def test_a_position_goes_through_json() -> None:
    assert DataPosition().state_dict() == {"epoch": 0, "batch": 0}
    assert DataPosition(**DataPosition(3, 17).state_dict()) == DataPosition(3, 17)
