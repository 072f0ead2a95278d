"""`DataHandler.train_steps`: a step is the same batches on any number of processes."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import Config
from translator.data import Batch, DataHandler, DataPosition
from translator.data.pair_store import Ids, PairStore
from translator.special_tokens import PAD


@pytest.fixture(scope="module")
def handler(sampling_recipe: Callable[..., Config]) -> DataHandler:
    """Return a handler of plain text."""
    return DataHandler(sampling_recipe(sampling=0.0))


def tensors(batch: Batch) -> list[list[list[int]]]:
    return [part.tolist() for part in (batch.source, batch.target_input, batch.labels, batch.indices)]


def rows_of(batch: Batch) -> list[tuple[int, list[int], list[int]]]:
    """Return number and tokens of each pair, without padding."""
    return [
        (number, source[source != PAD].tolist(), labels[labels != PAD].tolist())
        for number, source, labels in zip(batch.indices.tolist(), batch.source, batch.labels, strict=True)
    ]


def assert_shares_are(handler: DataHandler, first: int, accumulation: int, world: int, steps: int = 3) -> None:
    """Compare the shares of `world` processes from batch `first` on with the batches, one after another."""
    batches = list(itertools.islice(handler.train_batches(DataPosition()), first + steps * accumulation))
    start = batches[first - 1][1] if first else DataPosition()
    ranks = [
        list(itertools.islice(handler.train_steps(start, accumulation, rank, world), steps)) for rank in range(world)
    ]
    for number in range(steps):
        expected = batches[first + number * accumulation : first + (number + 1) * accumulation]
        shares = [of_rank[number] for of_rank in ranks]
        mine = list(itertools.chain.from_iterable(share.batches for share in shares))
        ours = sorted(row for batch in mine for row in rows_of(batch))
        assert ours == sorted(row for batch, _ in expected for row in rows_of(batch))
        for share in shares:
            assert share.position == expected[-1][1]
            assert share.target_tokens == sum(batch.target_tokens for batch, _ in expected)
            assert share.target_tokens == sum(batch.target_tokens for batch in mine)
            assert share.source_tokens == sum(batch.source_tokens for batch in mine)
            assert share.positions == sum(batch.source.numel() + batch.labels.numel() for batch in mine)
        if world == 1:
            assert [tensors(batch) for batch in mine] == [tensors(batch) for batch, _ in expected]


@settings(deadline=None, max_examples=25)
@given(first=st.integers(0, 80), accumulation=st.integers(1, 5), world=st.integers(1, 4))
def test_the_shares_of_all_processes_are_the_batches_of_one(
    handler: DataHandler, first: int, accumulation: int, world: int
) -> None:
    assert_shares_are(handler, first, accumulation, world)


def test_shares_of_sampled_text_are_the_same_on_every_process(sampling_recipe: Callable[..., Config]) -> None:
    assert_shares_are(DataHandler(sampling_recipe(sampling=0.3)), first=2, accumulation=3, world=2)


def test_a_step_goes_on_into_the_next_epoch(handler: DataHandler) -> None:
    batches = list(itertools.takewhile(lambda one: one[1].epoch == 0, handler.train_batches(DataPosition())))
    last = len(batches)  # the batch after which the position is the next epoch's
    step = next(handler.train_steps(DataPosition(0, last), 3))
    following = [batch for batch, _ in itertools.islice(handler.train_batches(DataPosition(1, 0)), 2)]
    assert [tensors(batch) for batch in step.batches[1:]] == [tensors(batch) for batch in following]
    assert step.position == DataPosition(1, 2)


def test_a_process_reads_only_its_own_rows(handler: DataHandler, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    plain = PairStore.__getitem__

    def spied(store: PairStore, number: int) -> tuple[Ids, Ids]:
        read.append(number)
        return plain(store, number)

    monkeypatch.setattr(PairStore, "__getitem__", spied)
    step = next(handler.train_steps(DataPosition(), 3, rank=1, world=2))
    assert read == list(itertools.chain.from_iterable(batch.indices.tolist() for batch in step.batches))
    assert sum(batch.target_tokens for batch in step.batches) < step.target_tokens
