"""`DataHandler`: from a recipe to batches; no pair is cut, batches resume and are shared."""

import contextlib
import functools
import itertools
import multiprocessing
from collections.abc import Iterable
from dataclasses import replace
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.two_sources import TwoSourceRecipe
from translator.config.training_section import AugmentationConfig
from translator.core.batch import Batch
from translator.corpus.prepared_corpus import Side
from translator.data import DataHandler, DataPosition


@pytest.fixture(scope="module")
def handler(two_source_recipe: TwoSourceRecipe) -> DataHandler:
    return DataHandler(two_source_recipe(typos=0.0))


@pytest.fixture(scope="module")
def mistyped(two_source_recipe: TwoSourceRecipe) -> DataHandler:
    return DataHandler(two_source_recipe(weight=5, temperature=2))


@pytest.fixture(scope="module", params=["plain", "mistyped"])
def any_handler(request: pytest.FixtureRequest, handler: DataHandler, mistyped: DataHandler) -> DataHandler:
    """Each test with it runs twice: with stored ids, and with changed text."""
    return handler if request.param == "plain" else mistyped


def tables(batch: Batch) -> tuple[object, object, object]:
    """All that a batch holds, to compare."""
    return batch.fields.tolist(), batch.pairs.tolist(), batch.pair_counts.tolist()


def pairs_in(batch: Batch) -> list[tuple[int, list[int], list[int]]]:
    """The pair number, the source ids and the labels of each pair of `batch`, EOS included."""
    pairs: list[tuple[int, list[int], list[int]]] = []
    for row, pair_count in enumerate(batch.pair_counts.tolist()):
        for number in range(1, pair_count + 1):
            in_source = batch.source_sentence[row] == number
            in_target = batch.target_sentence[row] == number
            pair = int(batch.pairs[len(pairs)])
            pairs.append((pair, batch.source[row][in_source].tolist(), batch.labels[row][in_target].tolist()))
    return pairs


def one_epoch(handler: DataHandler) -> list[Batch]:
    batches = []
    for batch, position in handler.train_batches(DataPosition()):
        batches.append(batch)
        if position.epoch > 0:
            break
    return batches


def numbers_in(batches: Iterable[Batch]) -> list[int]:
    """The pair numbers of all batches, in ascending order."""
    return sorted(itertools.chain.from_iterable(batch.pairs.tolist() for batch in batches))


def training_text(handler: DataHandler, side: Side) -> list[str]:
    names = handler.corpus.names("train")
    return list(itertools.chain.from_iterable(handler.corpus.lines("train", name, side) for name in names))


def test_batches_of_an_epoch_have_one_shape_and_decode_to_the_whole_training_text(handler: DataHandler) -> None:
    english = training_text(handler, "en")
    persian = training_text(handler, "fa")
    seen = 0
    for batch in one_epoch(handler):
        assert batch.fields.shape == (7, 2, 100)
        for number, source, labels in pairs_in(batch):
            assert handler.subword.source.decode_ids([source]) == [english[number]]
            assert handler.subword.target.decode_ids([labels]) == [persian[number]]
            seen += 1
    assert seen == len(english) == handler.pair_count("train") >= 200


# --- over-long pairs ---


def test_over_long_pairs_are_left_out_never_cut_counted_and_told(
    handler: DataHandler, two_source_recipe: TwoSourceRecipe, caplog: pytest.LogCaptureFixture
) -> None:
    """The row length is the median length of the training pairs."""
    lengths = {}
    for batch in one_epoch(handler):
        for number, source, labels in pairs_in(batch):
            lengths[number] = max(len(source), len(labels))
    limit = int(np.median(list(lengths.values())))
    limited = DataHandler(two_source_recipe(typos=0.0, max_length=limit))
    assert limited.fingerprint == handler.fingerprint, "a limit needs no new stores"

    fitting = [number for number, length in lengths.items() if length <= limit]
    over_long = len(lengths) - len(fitting)
    assert numbers_in(one_epoch(limited)) == sorted(fitting)
    assert limited.pair_count("validation") == len(numbers_in(limited.validation_batches())) < 20

    reports = [report for report in limited.report if report.split == "train"]
    assert sum(report.over_long for report in reports) == over_long > 20
    assert max(report.longest for report in reports) == max(lengths.values())
    share = f"{over_long:,} of {len(lengths):,} train pairs ({over_long / len(lengths):.2%})"
    assert f"{share} are longer than batching.max_length: {limit} tokens" in caplog.text
    assert "excluded from the loss" in caplog.text


# --- ranks and processes ---


@functools.cache
def first_batches(data: DataHandler) -> list[tuple[Batch, DataPosition]]:
    """Return as many batches of one process as the test below looks at."""
    return list(itertools.islice(data.train_batches(DataPosition()), 95))


@settings(max_examples=12)
@given(first=st.integers(0, 80), accumulation=st.integers(1, 5), world_size=st.integers(1, 4))
@example(first=38, accumulation=3, world_size=1)
def test_the_shares_of_all_ranks_are_the_batches_of_one_process(
    any_handler: DataHandler, first: int, accumulation: int, world_size: int
) -> None:
    """Checks three updates that resume at batch `first`; an update may span two epochs."""
    batches = first_batches(any_handler)
    start = batches[first - 1][1] if first else DataPosition()
    steps_by_rank = []
    for rank in range(world_size):
        with contextlib.closing(any_handler.training_batches.steps(start, accumulation, rank, world_size)) as steps:
            steps_by_rank.append(list(itertools.islice(steps, 3)))

    for update, shares in enumerate(zip(*steps_by_rank, strict=True)):
        begin = first + update * accumulation
        expected = batches[begin : begin + accumulation]
        for number, (whole, _) in enumerate(expected):
            # The rows of all ranks; those of the last may be followed by empty ones.
            rows = torch.cat([share.batches[number].fields for share in shares], dim=1)
            row_count = whole.fields.size(1)
            assert torch.equal(rows[:, :row_count], whole.fields)
            assert not rows[:, row_count:].any()
            assert numbers_in(share.batches[number] for share in shares) == numbers_in([whole])
        for share in shares:
            assert share.next_position == expected[-1][1]
            assert share.target_tokens == sum(whole.target_tokens for whole, _ in expected)


def test_a_plan_does_not_depend_on_how_many_pairs_are_encoded_at_once(
    mistyped: DataHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = mistyped.training_batches.plan(0)
    monkeypatch.setattr("translator.data.training_batches._PAIRS_AT_ONCE", 7)
    assert np.array_equal(mistyped.training_batches.plan(0).target_lengths, expected.target_lengths)


def test_each_epoch_changes_other_pairs_and_a_plan_that_is_made_anew_the_same(mistyped: DataHandler) -> None:
    text = replace(mistyped.training_batches.text, augmentation=AugmentationConfig(typos=0.5))
    batches = replace(mistyped.training_batches, text=text)
    first, again, second = (batches.plan(epoch).draws.changes.tolist() for epoch in (0, 0, 1))
    assert first == again != second


def test_other_processes_make_the_same_batches(mistyped: DataHandler, monkeypatch: pytest.MonkeyPatch) -> None:
    start = DataPosition(0, 6)
    with contextlib.closing(mistyped.training_batches.steps(start, 2)) as steps:
        expected = list(itertools.islice(steps, 40))
    fork = multiprocessing.get_context("fork")  # new processes take seconds to start
    monkeypatch.setattr(torch.multiprocessing, "get_context", lambda _: fork)
    pickled_batches = ForkingPickler.loads(ForkingPickler.dumps(mistyped.training_batches))
    with contextlib.closing(pickled_batches.steps(start, 2, on_gpu=True)) as steps:
        arrived = list(itertools.islice(steps, 40))
    for step, expected_step in zip(arrived, expected, strict=True):
        assert step.next_position == expected_step.next_position
        assert list(map(tables, step.batches)) == list(map(tables, expected_step.batches))
