"""`DataHandler` with subword sampling and a mixture: what an epoch holds, and that resuming is exact."""

import itertools
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import Config
from translator.data import Batch, DataHandler, DataPosition

Tables = list[list[list[int]]]


def tables(batch: Batch) -> Tables:
    return [batch.source.tolist(), batch.target_input.tolist(), batch.labels.tolist(), [batch.indices.tolist()]]


def one_epoch(handler: DataHandler, epoch: int = 0) -> list[Batch]:
    """Return the batches of one epoch."""
    batches = []
    for batch, position in handler.train_batches(DataPosition(epoch, 0)):
        batches.append(batch)
        if position.epoch != epoch:
            break
    return batches


def pieces(handler: DataHandler, epoch: int) -> dict[int, list[int]]:
    """Return the source ids of each pair."""
    return {
        number: [token for token in row if token > 3]
        for batch in one_epoch(handler, epoch)
        for number, row in zip(batch.indices.tolist(), batch.source.tolist(), strict=True)
    }


@pytest.fixture(scope="module")
def handler(sampling_recipe: Callable[..., Config]) -> DataHandler:
    """Return a handler that samples, and shows one of its sources more often than it has pairs."""
    return DataHandler(sampling_recipe(weight=5, temperature=2))


def test_each_epoch_shows_other_pieces_of_the_same_text(handler: DataHandler) -> None:
    first, second = pieces(handler, 0), pieces(handler, 1)
    both = sorted(first.keys() & second.keys())
    assert len(both) > 30
    assert sum(first[number] != second[number] for number in both) > len(both) / 2
    text = [line for name in handler.corpus.names("train") for line in handler.corpus.lines("train", name, "en")]
    assert handler.subword.source.decode_ids([first[number] for number in both]) == [text[number] for number in both]


def test_an_epoch_draws_what_the_mixture_says(handler: DataHandler) -> None:
    large, small = handler.mixture
    assert (large.name, small.name, small.weight) == ("one", "two", 5)
    assert large.drawn + small.drawn == handler.pair_count("train") == large.pairs + small.pairs
    assert small.drawn > 2 * small.pairs, "some pairs must come three times for this test to mean something"
    shown = Counter(itertools.chain.from_iterable(batch.indices.tolist() for batch in one_epoch(handler)))
    assert sum(count for number, count in shown.items() if number >= large.pairs) == small.drawn
    assert sum(count for number, count in shown.items() if number < large.pairs) == large.drawn
    assert {count for number, count in shown.items() if number >= large.pairs} <= {2, 3, 4}
    for batch in one_epoch(handler):
        assert batch.size * max(batch.source.shape[1], batch.labels.shape[1]) <= 256
    assert handler.format_report().count("drawn in an epoch") == 1


HANDLERS: list[DataHandler] = []


@pytest.fixture(autouse=True)
def _share(handler: DataHandler) -> None:
    """Let the test below, which hypothesis calls many times, have the handler."""
    HANDLERS[:] = [handler]


@settings(deadline=None, max_examples=8)
@given(stop=st.integers(1, 60), more=st.integers(1, 30))
def test_a_resumed_iteration_gives_what_the_uninterrupted_one_would(stop: int, more: int) -> None:
    handler = HANDLERS[0]
    uninterrupted = list(itertools.islice(handler.train_batches(DataPosition()), stop + more))
    resumed = list(itertools.islice(handler.train_batches(uninterrupted[stop - 1][1]), more))
    assert [position for _, position in resumed] == [position for _, position in uninterrupted[stop:]]
    assert [tables(batch) for batch, _ in resumed] == [tables(batch) for batch, _ in uninterrupted[stop:]]


def test_validation_is_never_sampled(handler: DataHandler, sampling_recipe: Callable[..., Config]) -> None:
    plain = DataHandler(sampling_recipe(sampling=0))
    assert [tables(batch) for batch in handler.validation_batches()] == [
        tables(batch) for batch in plain.validation_batches()
    ]


def test_the_strength_is_part_of_the_fingerprint_and_the_plain_stores_are_shared(
    handler: DataHandler, sampling_recipe: Callable[..., Config]
) -> None:
    plain, wilder = (DataHandler(sampling_recipe(sampling=strength)) for strength in (0, 0.1))
    assert len({handler.fingerprint, plain.fingerprint, wilder.fingerprint}) == 3
    assert handler.token_folder == plain.token_folder == wilder.token_folder
    assert plain.token_folder.name == f"tokens-{plain.fingerprint}"
    same = DataHandler(sampling_recipe(tokens_per_batch=512))
    assert same.fingerprint == handler.fingerprint


def test_over_long_samples_fall_back_to_plain_pieces(sampling_recipe: Callable[..., Config]) -> None:
    plain = pieces(DataHandler(sampling_recipe(sampling=0, max_length=20)), 0)
    sampled = pieces(DataHandler(sampling_recipe(sampling=0.05, max_length=20)), 0)
    assert sampled.keys() == plain.keys(), "no pair is left out for its sample"
    assert all(len(ids) < 20 for ids in sampled.values())
    long = [number for number, ids in plain.items() if len(ids) > 15]
    short = [number for number, ids in plain.items() if len(ids) < 8]
    assert sum(sampled[number] == plain[number] for number in long) > len(long) / 2 > 5
    assert sum(sampled[number] != plain[number] for number in short) > len(short) / 2


def test_without_sampling_nothing_of_it_runs(
    sampling_recipe: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translator.data.handler.EpochStores", None)
    monkeypatch.setattr("translator.data.handler.EpochSampler", None)
    assert one_epoch(DataHandler(sampling_recipe(sampling=0)))


def test_a_closed_iteration_leaves_nothing_beside_the_prepared_data(handler: DataHandler) -> None:
    batches = handler.train_batches(DataPosition())
    next(batches)
    prepared = handler.token_folder.parent
    assert len(list(prepared.glob(".sampled-*"))) == 1
    batches.close()
    assert list(prepared.glob(".sampled-*")) == []
