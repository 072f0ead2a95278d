"""`DataHandler`: from a recipe to batches; each stage is reused, no pair is cut, batches resume and are shared."""

import contextlib
import functools
import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from data.conftest import SamplingRecipe, two_sources
from hypothesis import example, given, settings
from hypothesis import strategies as st

from translator.config import Config
from translator.data import Batch, DataHandler, DataPosition

SUBJECTS = [("I", "من", "م"), ("We", "ما", "یم"), ("They", "آن‌ها", "ند"), ("You", "تو", "ی")]
VERBS = [("go", "می‌رو"), ("buy", "می‌خر"), ("read", "می‌خوان"), ("see", "می‌بین")]
THINGS = [("books", "کتاب"), ("houses", "خانه"), ("letters", "نامه"), ("trees", "درخت"), ("pictures", "عکس")]


def sentences(first: int, last: int) -> list[tuple[str, str]]:
    made = []
    for number in range(first, last):
        (subject, pronoun, ending), (verb, stem) = SUBJECTS[number % 4], VERBS[number // 4 % 4]
        thing, object_ = THINGS[number // 16 % 5]
        extra = number % 7
        english = f"{subject} {verb} {number} {thing}" + " and more" * extra + "."
        made.append((english, f"{pronoun} {number} {object_} را" + " و بیشتر" * extra + f" {stem}{ending}."))
    return made


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
    return DataHandler(recipe(folder)).prepare()


@pytest.fixture(scope="module")
def sampled(sampling_recipe: SamplingRecipe) -> DataHandler:
    return DataHandler(sampling_recipe(weight=5, temperature=2)).prepare()


@pytest.fixture(scope="module", params=["plain", "sampled"])
def both(request: pytest.FixtureRequest, handler: DataHandler, sampled: DataHandler) -> DataHandler:
    return handler if request.param == "plain" else sampled


def tables(batch: Batch) -> tuple[object, object, object]:
    """All that a batch holds, to compare."""
    return batch.fields.tolist(), batch.pairs.tolist(), batch.pair_counts.tolist()


def pairs_in(batch: Batch) -> list[tuple[int, list[int], list[int]]]:
    """The pair number, the source ids and the labels of each pair of `batch`, EOS included."""
    pairs: list[tuple[int, list[int], list[int]]] = []
    for row in range(len(batch.pair_counts)):
        for number in range(1, int(batch.pair_counts[row]) + 1):
            source = batch.source[row][batch.source_sentence[row] == number].tolist()
            labels = batch.labels[row][batch.target_sentence[row] == number].tolist()
            pairs.append((int(batch.pairs[len(pairs)]), source, labels))
    return pairs


def one_epoch(handler: DataHandler, epoch: int = 0) -> list[Batch]:
    batches = []
    for batch, position in handler.train_batches(DataPosition(epoch, 0)):
        batches.append(batch)
        if position.epoch != epoch:
            break
    return batches


def test_held_out_text_comes_from_the_splits_and_the_test_sets(tmp_path: Path) -> None:
    values = recipe(tmp_path).model_dump(mode="json")
    rows = [("Some  test text", "متن‌ها ي آزمون"), ("", "بدون متن"), ("The second text", "متن دوم")]
    values["evaluation"]["test_sets"] = [{"name": "extra", "path": write_tsv(tmp_path / "extra.tsv", rows)}]
    handler = DataHandler(Config.model_validate(values)).prepare()
    (validation,) = handler.held_out("validation")
    texts = {line for name in ("one", "two") for line in handler.corpus.lines("validation", name, "fa")}
    assert len(validation.sources) == 20 and {reference for (reference,) in validation.references} == texts
    one, two, extra = handler.held_out("test")
    assert (one.name, two.name) == ("one", "two") and len(one.sources) == len(two.references) == 5
    assert one.sources == tuple(handler.corpus.lines("test", "one", "en")) and one.origins == ("one",) * 5
    assert extra.name == "extra" and extra.sources == ("Some  test text", "The second text")
    assert extra.references == ((rows[0][1],), (rows[2][1],)), "as read, not normalized"


def test_batches_of_an_epoch_decode_to_the_whole_training_text(both: DataHandler) -> None:
    english, persian = (
        [line for name in both.corpus.names("train") for line in both.corpus.lines("train", name, side)]
        for side in ("en", "fa")
    )
    seen = 0
    for batch in one_epoch(both):
        for number, source, labels in pairs_in(batch):
            assert both.subword.source.decode_ids([source]) == [english[number].lower()]
            assert both.subword.target.decode_ids([labels]) == [persian[number]]
            seen += 1
    assert seen == len(english) == both.pair_count("train") >= 200


@pytest.mark.parametrize("epoch", [0, 1])
def test_every_batch_of_an_epoch_has_the_same_shape(both: DataHandler, epoch: int) -> None:
    assert {tuple(batch.fields.shape) for batch in one_epoch(both, epoch)} == {(7, 2, 100)}


@settings(deadline=None, max_examples=8)
@given(stop=st.integers(1, 80), more=st.integers(1, 40))
def test_resumed_batches_equal_those_of_an_uninterrupted_iteration(both: DataHandler, stop: int, more: int) -> None:
    uninterrupted = list(itertools.islice(both.train_batches(DataPosition()), stop + more))
    saved = json.loads(json.dumps(uninterrupted[stop - 1][1].state_dict()))
    resumed = list(itertools.islice(both.train_batches(DataPosition(**saved)), more))
    assert [position for _, position in resumed] == [position for _, position in uninterrupted[stop:]]
    assert [tables(batch) for batch, _ in resumed] == [tables(batch) for batch, _ in uninterrupted[stop:]]


def test_validation_batches_are_normalized_complete_and_repeatable(tmp_path: Path) -> None:
    raw = [(f"Read  book {number}", f"كتاب {number} را  مي‌خوانم") for number in range(400, 430)]  # Arabic kaf and yeh
    config = recipe(tmp_path)
    source = {"name": "held", "path": write_tsv(tmp_path / "held.tsv", raw), "use": "validation"}
    values = config.model_dump(mode="json")
    values["corpus"]["sources"].append(source)
    handler = DataHandler(Config.model_validate(values)).prepare()
    assert next(iter(handler.corpus.lines("validation", "held", "fa"))) == raw[0][1], "kept as read"
    batches = list(handler.validation_batches())
    assert {tuple(batch.fields.shape) for batch in batches} == {(7, 2, 100)}
    assert sorted(number for batch in batches for number in batch.pairs.tolist()) == list(range(50))
    assert handler.pair_count("validation") == 50
    assert list(map(tables, batches)) == list(map(tables, handler.validation_batches()))
    texts = {}
    for batch in batches:
        for number, _, labels in pairs_in(batch):
            (texts[number],) = handler.subword.target.decode_ids([labels])
    assert texts[20] == handler.normalizer.target(raw[0][1]) != raw[0][1]
    assert "ي" not in texts[20] and "ك" not in texts[20]


def test_over_long_pairs_are_counted_reported_and_never_cut(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    everything = DataHandler(recipe(tmp_path)).prepare()
    lengths = {}
    for batch in one_epoch(everything):
        for number, source, labels in pairs_in(batch):
            lengths[number] = max(len(source), len(labels))
    limit = int(np.median(list(lengths.values())))
    handler = DataHandler(recipe(tmp_path, max_length=limit)).prepare()
    kept = sorted(number for batch in one_epoch(handler) for number in batch.pairs.tolist())
    assert kept == sorted(number for number, length in lengths.items() if length <= limit)
    left_out = len(lengths) - len(kept)
    assert left_out > 20
    assert sum(part.over_long for part in handler.report if part.split == "train") == left_out
    assert [part.name for part in handler.report] == ["one", "two"] * 2
    assert max(part.longest for part in handler.report if part.split == "train") == max(lengths.values())
    batches = one_epoch(handler)
    for side in ("source_tokens", "target_tokens"):
        counted = sum(getattr(part, side) for part in handler.report if part.split == "train")
        assert counted == sum(getattr(batch, side) for batch in batches)
    assert handler.fingerprint == everything.fingerprint, "the limit needs no new stores"
    share = f"{left_out:,} of {len(lengths):,} train pairs ({left_out / len(lengths):.2%}) are longer than"
    assert any(f"{share} batching.max_length: {limit} tokens" in message for message in caplog.messages)
    assert any("validation pairs" in message and message.endswith("from the loss") for message in caplog.messages)
    assert handler.pair_count("validation") == sum(batch.size for batch in handler.validation_batches()) < 20
    table = handler.format_report()
    assert f"over {limit} tokens" in table and len(table.split("\n")) == 2 + 4


def test_data_is_prepared_once_and_again_only_after_a_change(tmp_path: Path) -> None:
    def folders() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in (tmp_path / "prepared").iterdir()}

    first = DataHandler(recipe(tmp_path)).prepare()
    before = folders()
    assert sorted(name.partition("-")[0] for name in before) == ["corpus", "subword", "tokens"]
    assert first.token_folder.name == f"tokens-{first.fingerprint}"
    again = DataHandler(recipe(tmp_path, tokens_per_batch=128)).prepare()
    assert folders() == before and again.fingerprint == first.fingerprint
    with (tmp_path / "two.tsv").open("a", encoding="utf-8") as file:
        file.write("One more line.\tیک خط دیگر.\n")
    changed = DataHandler(recipe(tmp_path)).prepare()
    assert changed.fingerprint != first.fingerprint and len(folders()) == 6


def test_a_damaged_token_store_is_reported_and_rebuilt(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = recipe(tmp_path)
    first = DataHandler(config).prepare()
    file = first.token_folder / "train" / "one.fa.ids"
    content = file.read_bytes()
    file.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    assert DataHandler(config).prepare().fingerprint == first.fingerprint
    assert file.read_bytes() == content
    assert [message for message in caplog.messages if "one.fa is damaged" in message and "recreating" in message]


@functools.cache
def first_batches(data: DataHandler) -> list[tuple[Batch, DataPosition]]:
    """Return as many batches of one process as the test below looks at."""
    return list(itertools.islice(data.train_batches(DataPosition()), 95))


@settings(deadline=None, max_examples=25)
@given(first=st.integers(0, 80), accumulation=st.integers(1, 5), world_size=st.integers(1, 4))
@example(first=38, accumulation=3, world_size=1)
def test_the_shares_of_all_ranks_are_the_batches_of_one_process(
    both: DataHandler, first: int, accumulation: int, world_size: int
) -> None:
    """Checks three steps from batch `first`; a step may span two epochs."""
    steps = 3
    batches = first_batches(both)
    start = batches[first - 1][1] if first else DataPosition()
    ranks = []
    for rank in range(world_size):
        iterator = both.training_batches.steps(start, accumulation, rank, world_size)
        ranks.append(list(itertools.islice(iterator, steps)))
        iterator.close()
    for number in range(steps):
        expected = batches[first + number * accumulation : first + (number + 1) * accumulation]
        shares = [of_rank[number] for of_rank in ranks]
        ours = [pair for share in shares for batch in share.batches for pair in pairs_in(batch)]
        assert sorted(ours) == sorted(pair for batch, _ in expected for pair in pairs_in(batch))
        for share in shares:
            assert share.position == expected[-1][1]
            assert share.target_tokens == sum(batch.target_tokens for batch, _ in expected)
            assert share.source_tokens == sum(batch.source_tokens for batch, _ in expected)


@pytest.mark.parametrize("world_size", [2, 3])
def test_ranks_take_equal_numbers_of_rows(handler: DataHandler, world_size: int) -> None:
    shapes = set()
    for rank in range(world_size):
        with contextlib.closing(handler.training_batches.steps(DataPosition(), 1, rank, world_size)) as steps:
            for step in itertools.islice(steps, 30):
                shapes |= {tuple(batch.fields.shape) for batch in step.batches}
    assert shapes == {(7, 1, 100)}, "two rows divided among two or three ranks"


def test_another_process_makes_the_same_batches(both: DataHandler) -> None:
    start = DataPosition(0, 6)
    with contextlib.closing(both.training_batches.steps(start, 2)) as steps:
        expected = list(itertools.islice(steps, 40))
    with contextlib.closing(both.training_batches.pinned_steps(start, 2)) as steps:
        arrived = list(itertools.islice(steps, 40))
    assert [step.position for step in arrived] == [step.position for step in expected]
    for ours, theirs in zip(arrived, expected, strict=True):
        assert [tables(batch) for batch in ours.batches] == [tables(batch) for batch in theirs.batches]


def test_an_epoch_draws_each_source_as_often_as_the_mixture_says(sampled: DataHandler) -> None:
    large, small = sampled.mixture
    assert (large.name, small.name, small.weight) == ("one", "two", 5)
    assert large.drawn + small.drawn == sampled.pair_count("train") == large.pairs + small.pairs
    assert small.drawn > 2 * small.pairs, "some pairs must come three times for this test to mean something"
    shown = Counter(number for batch in one_epoch(sampled) for number in batch.pairs.tolist())
    assert sum(count for number, count in shown.items() if number >= large.pairs) == small.drawn
    assert sum(count for number, count in shown.items() if number < large.pairs) == large.drawn
    assert {count for number, count in shown.items() if number >= large.pairs} <= {2, 3, 4}
    assert sampled.format_report().count("drawn in an epoch") == 1
