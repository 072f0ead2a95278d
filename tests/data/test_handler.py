"""`DataHandler`: from a recipe to batches; each stage is reused, no pair is cut, batches resume and are shared."""

import contextlib
import dataclasses
import functools
import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.sampling_recipe import SamplingRecipe, two_sources
from translator.config import Config
from translator.corpus.prepared_corpus import Side
from translator.data import Batch, DataHandler, DataPosition

SUBJECTS = [("I", "من", "م"), ("We", "ما", "یم"), ("They", "آن‌ها", "ند"), ("You", "تو", "ی")]
VERBS = [("go", "می‌رو"), ("buy", "می‌خر"), ("read", "می‌خوان"), ("see", "می‌بین")]
NOUNS = [("books", "کتاب"), ("houses", "خانه"), ("letters", "نامه"), ("trees", "درخت"), ("pictures", "عکس")]


def sentences(first: int, last: int) -> list[tuple[str, str]]:
    """English sentences and their translations, of several lengths, all different."""
    pairs = []
    for number in range(first, last):
        subject, pronoun, ending = SUBJECTS[number % 4]
        verb, stem = VERBS[number // 4 % 4]
        noun, persian_noun = NOUNS[number // 16 % 5]
        extra = number % 7
        english = f"{subject} {verb} {number} {noun}" + " and more" * extra + "."
        persian = f"{pronoun} {number} {persian_noun} را" + " و بیشتر" * extra + f" {stem}{ending}."
        pairs.append((english, persian))
    return pairs


def write_tsv(path: Path, pairs: list[tuple[str, str]]) -> str:
    path.write_text("".join(f"{english}\t{persian}\n" for english, persian in pairs), "utf-8")
    return str(path)


def recipe(folder: Path, **batching: object) -> Config:
    for name, first, last in (("one", 0, 240), ("two", 240, 320)):
        if not (folder / f"{name}.tsv").exists():
            write_tsv(folder / f"{name}.tsv", sentences(first, last))
    return two_sources(folder, {"vocabulary_size": 40}, **batching)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("handler")


@pytest.fixture(scope="module")
def handler(folder: Path) -> DataHandler:
    return DataHandler(recipe(folder))


@pytest.fixture(scope="module")
def sampled(sampling_recipe: SamplingRecipe) -> DataHandler:
    return DataHandler(sampling_recipe(weight=5, temperature=2))


@pytest.fixture(scope="module", params=["plain", "sampled"])
def any_handler(request: pytest.FixtureRequest, handler: DataHandler, sampled: DataHandler) -> DataHandler:
    """Each test with it runs twice: with stored ids, and with sampled pieces."""
    return handler if request.param == "plain" else sampled


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
            source = batch.source[row][in_source].tolist()
            labels = batch.labels[row][in_target].tolist()
            pair = int(batch.pairs[len(pairs)])
            pairs.append((pair, source, labels))
    return pairs


def one_epoch(handler: DataHandler, epoch: int = 0) -> list[Batch]:
    batches = []
    for batch, position in handler.train_batches(DataPosition(epoch, 0)):
        batches.append(batch)
        if position.epoch != epoch:
            break
    return batches


def numbers_in(batches: Iterable[Batch]) -> list[int]:
    """The pair numbers of all batches, in their order."""
    numbers: list[int] = []
    for batch in batches:
        numbers += batch.pairs.tolist()
    return numbers


# --- batches of training ---


def training_text(handler: DataHandler, side: Side) -> list[str]:
    lines: list[str] = []
    for name in handler.corpus.names("train"):
        lines += handler.corpus.lines("train", name, side)
    return lines


def test_batches_of_an_epoch_decode_to_the_whole_training_text(any_handler: DataHandler) -> None:
    english = training_text(any_handler, "en")
    persian = training_text(any_handler, "fa")
    seen = 0
    for batch in one_epoch(any_handler):
        for number, source, labels in pairs_in(batch):
            if not any_handler.training_batches.text.changes:
                assert any_handler.subword.source.decode_ids([source]) == [english[number].lower()]
            assert any_handler.subword.target.decode_ids([labels]) == [persian[number]]
            seen += 1
    assert seen == len(english) == any_handler.pair_count("train") >= 200


@pytest.mark.parametrize("epoch", [0, 1])
def test_every_batch_of_an_epoch_has_the_same_shape(any_handler: DataHandler, epoch: int) -> None:
    assert {tuple(batch.fields.shape) for batch in one_epoch(any_handler, epoch)} == {(7, 2, 100)}


@settings(deadline=None, max_examples=8)
@given(stop=st.integers(1, 80), more=st.integers(1, 40))
def test_resumed_batches_equal_those_of_an_uninterrupted_iteration(
    any_handler: DataHandler, stop: int, more: int
) -> None:
    uninterrupted = list(itertools.islice(any_handler.train_batches(DataPosition()), stop + more))

    _, last_position = uninterrupted[stop - 1]
    saved = json.loads(json.dumps(dataclasses.asdict(last_position)))  # as a checkpoint holds it
    resumed = list(itertools.islice(any_handler.train_batches(DataPosition(**saved)), more))
    for (batch, position), (expected_batch, expected_position) in zip(resumed, uninterrupted[stop:], strict=True):
        assert position == expected_position
        assert tables(batch) == tables(expected_batch)


# --- batches of validation ---

RAW = [(f"Read  book {number}", f"كتاب {number} را  مي‌خوانم") for number in range(400, 430)]  # Arabic kaf and yeh


@pytest.fixture(scope="module")
def validating(tmp_path_factory: pytest.TempPathFactory) -> DataHandler:
    """A handler with 20 validation pairs of its sources, and 30 of a source for validation only."""
    folder = tmp_path_factory.mktemp("validating")
    values = recipe(folder).model_dump(mode="json")
    source = {"name": "held", "path": write_tsv(folder / "held.tsv", RAW), "use": "validation"}
    values["corpus"]["sources"].append(source)
    return DataHandler(Config.model_validate(values))


def test_validation_batches_hold_every_pair_once(validating: DataHandler) -> None:
    assert sorted(numbers_in(validating.validation_batches())) == list(range(50))
    assert validating.pair_count("validation") == 50


def test_held_out_text_is_not_normalized(validating: DataHandler) -> None:
    assert next(validating.corpus.lines("validation", "held", "fa")) == RAW[0][1]


def test_validation_batches_are_normalized(validating: DataHandler) -> None:
    texts = {}
    for batch in validating.validation_batches():
        for number, _, labels in pairs_in(batch):
            (texts[number],) = validating.subword.target.decode_ids([labels])
    assert texts[20] == validating.normalizer.target(RAW[0][1])  # pair 20 is the first of RAW
    assert texts[20] != RAW[0][1]


# --- over-long pairs ---


class Limited(NamedTuple):
    """A handler whose row length is the median length of the training pairs."""

    handler: DataHandler
    limit: int
    lengths: dict[int, int]  # of the longer side of each training pair, by number
    free_fingerprint: str  # without the limit


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Limited:
    folder = tmp_path_factory.mktemp("limited")
    free = DataHandler(recipe(folder))
    lengths = {}
    for batch in one_epoch(free):
        for number, source, labels in pairs_in(batch):
            lengths[number] = max(len(source), len(labels))
    limit = int(np.median(list(lengths.values())))
    return Limited(
        handler=DataHandler(recipe(folder, max_length=limit)),
        limit=limit,
        lengths=lengths,
        free_fingerprint=free.fingerprint,
    )


def test_over_long_pairs_are_left_out_and_never_cut(limited: Limited) -> None:
    short_pairs = [number for number, length in limited.lengths.items() if length <= limited.limit]
    assert sorted(numbers_in(one_epoch(limited.handler))) == sorted(short_pairs)
    assert len(short_pairs) < len(limited.lengths) - 20


def test_the_report_counts_over_long_pairs_and_the_longest(limited: Limited) -> None:
    over_long = [length for length in limited.lengths.values() if length > limited.limit]
    reports = [report for report in limited.handler.report if report.split == "train"]
    assert sum(report.over_long for report in reports) == len(over_long)
    assert max(report.longest for report in reports) == max(over_long)


def test_a_limit_of_lengths_needs_no_new_stores(limited: Limited) -> None:
    assert limited.handler.fingerprint == limited.free_fingerprint


def test_over_long_validation_pairs_are_left_out_of_the_loss(limited: Limited) -> None:
    batches = limited.handler.validation_batches()
    assert limited.handler.pair_count("validation") == sum(len(batch.pairs) for batch in batches) < 20


def test_a_warning_gives_the_share_of_over_long_pairs(
    limited: Limited, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    DataHandler(recipe(folder, max_length=limited.limit))
    over_long = sum(length > limited.limit for length in limited.lengths.values())
    share = f"{over_long:,} of {len(limited.lengths):,} train pairs ({over_long / len(limited.lengths):.2%})"
    expected = f"{share} are longer than batching.max_length: {limited.limit} tokens"
    assert any(message.startswith(expected) for message in caplog.messages)
    assert any("validation pairs" in message and message.endswith("from the loss") for message in caplog.messages)


# --- preparation ---


def test_data_is_prepared_once_and_again_only_after_a_change(tmp_path: Path) -> None:
    def folders() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in (tmp_path / "prepared").iterdir()}

    # 1. One folder for each stage.
    first = DataHandler(recipe(tmp_path))
    folders_of_first = folders()
    assert sorted(name.partition("-")[0] for name in folders_of_first) == ["corpus", "subword", "tokens"]
    assert f"tokens-{first.fingerprint}" in folders_of_first

    # 2. Another size of batches needs nothing new.
    second = DataHandler(recipe(tmp_path, tokens_per_batch=128))
    assert folders() == folders_of_first
    assert second.fingerprint == first.fingerprint

    # 3. Another text needs every stage again.
    with (tmp_path / "two.tsv").open("a", encoding="utf-8") as file:
        file.write("One more line.\tیک خط دیگر.\n")
    third = DataHandler(recipe(tmp_path))
    assert third.fingerprint != first.fingerprint
    assert len(folders()) == 6


# --- ranks and processes ---


@functools.cache
def first_batches(data: DataHandler) -> list[tuple[Batch, DataPosition]]:
    """Return as many batches of one process as the test below looks at."""
    return list(itertools.islice(data.train_batches(DataPosition()), 95))


def all_pairs_in(batches: Iterable[Batch]) -> list[tuple[int, list[int], list[int]]]:
    """All pairs of some batches, in the order of their numbers."""
    pairs = []
    for batch in batches:
        pairs += pairs_in(batch)
    return sorted(pairs)


@settings(deadline=None, max_examples=12)
@given(first=st.integers(0, 80), accumulation=st.integers(1, 5), world_size=st.integers(1, 4))
@example(first=38, accumulation=3, world_size=1)
def test_the_shares_of_all_ranks_are_the_batches_of_one_process(
    any_handler: DataHandler, first: int, accumulation: int, world_size: int
) -> None:
    """Checks three updates from batch `first`; an update may span two epochs."""
    updates = 3
    batches = first_batches(any_handler)
    start = batches[first - 1][1] if first else DataPosition()
    steps_by_rank = []
    for rank in range(world_size):
        steps = any_handler.training_batches.steps(start, accumulation, rank, world_size)
        with contextlib.closing(steps):
            steps_by_rank.append(list(itertools.islice(steps, updates)))

    for number, shares in enumerate(zip(*steps_by_rank, strict=True)):
        begin = first + number * accumulation
        expected = batches[begin : begin + accumulation]
        whole_batches = [batch for batch, _ in expected]
        micro_batches = itertools.chain.from_iterable(share.batches for share in shares)
        assert all_pairs_in(micro_batches) == all_pairs_in(whole_batches)
        for share in shares:
            assert share.next_position == expected[-1][1]
            assert share.target_tokens == sum(batch.target_tokens for batch in whole_batches)


def test_other_processes_make_the_same_batches(any_handler: DataHandler) -> None:
    start = DataPosition(0, 6)
    with contextlib.closing(any_handler.training_batches.steps(start, 2)) as steps:
        expected = list(itertools.islice(steps, 40))
    with contextlib.closing(any_handler.training_batches.steps(start, 2, on_gpu=True)) as steps:
        arrived = list(itertools.islice(steps, 40))
    for step, expected_step in zip(arrived, expected, strict=True):
        assert step.next_position == expected_step.next_position
        assert list(map(tables, step.batches)) == list(map(tables, expected_step.batches))


# --- the mixture ---
