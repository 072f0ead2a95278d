"""`DataHandler`: from a recipe to batches, each stage found again, nothing cut, resumable anywhere."""

import itertools
import json
import logging
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import Config
from translator.data import Batch, DataHandler, DataPosition
from translator.errors import CorpusError, StorageError
from translator.special_tokens import EOS, PAD, SOS

SUBJECTS = [("I", "من", "م"), ("We", "ما", "یم"), ("They", "آن‌ها", "ند"), ("You", "تو", "ی")]
VERBS = [("go", "می‌رو"), ("buy", "می‌خر"), ("read", "می‌خوان"), ("see", "می‌بین")]
THINGS = [("books", "کتاب"), ("houses", "خانه"), ("letters", "نامه"), ("trees", "درخت"), ("pictures", "عکس")]


def sentences(first: int, last: int) -> list[tuple[str, str]]:
    """Return pairs numbered from `first` to `last - 1`, all different, of several lengths."""
    made = []
    for number in range(first, last):
        (subject, pronoun, ending), (verb, stem) = SUBJECTS[number % 4], VERBS[number // 4 % 4]
        thing, object_ = THINGS[number // 16 % 5]
        extra = number % 7
        made.append(
            (
                f"{subject} {verb} {number} {thing}" + " and more" * extra + ".",
                f"{pronoun} {number} {object_} را" + " و بیشتر" * extra + f" {stem}{ending}.",
            )
        )
    return made


def write_tsv(path: Path, pairs: list[tuple[str, str]]) -> str:
    """Write pairs and return the path."""
    path.write_text("".join(f"{english}\t{persian}\n" for english, persian in pairs), "utf-8")
    return str(path)


def recipe(folder: Path, **batching: object) -> Config:
    """Return a recipe over two sources in `folder`, with a little of each held out."""
    for name, first, last in (("one", 0, 240), ("two", 240, 320)):
        if not (folder / f"{name}.tsv").exists():
            write_tsv(folder / f"{name}.tsv", sentences(first, last))
    return Config.model_validate(
        {
            "run": {"directory": str(folder / "run"), "seed": 3},
            "corpus": {
                "sources": [{"name": name, "path": str(folder / f"{name}.tsv")} for name in ("one", "two")],
                "split": {"validation": 10, "test": 5},
                "prepared_directory": str(folder / "prepared"),
            },
            "subword": {"vocabulary_size": 40, "character_coverage": 1.0},
            "batching": {"tokens_per_batch": 256, "max_length": 100, **batching},
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose corpus is prepared once for all tests that do not change it."""
    return tmp_path_factory.mktemp("handler")


@pytest.fixture(scope="module")
def handler(folder: Path) -> DataHandler:
    """Return a handler of the recipe above."""
    return DataHandler(recipe(folder))


def same(one: Batch, other: Batch) -> bool:
    """Return whether two batches hold the same numbers."""
    return all(
        left.tolist() == right.tolist()
        for left, right in (
            (one.source, other.source),
            (one.target_input, other.target_input),
            (one.labels, other.labels),
            (one.indices, other.indices),
        )
    )


def one_epoch(handler: DataHandler, epoch: int = 0) -> list[Batch]:
    """Return the batches of one epoch."""
    batches = []
    for batch, position in handler.train_batches(DataPosition(epoch, 0)):
        batches.append(batch)
        if position.epoch != epoch:
            break
    return batches


def test_batches_hold_the_corpus_text(handler: DataHandler) -> None:
    english, persian = (
        [line for name in handler.corpus.names("train") for line in handler.corpus.lines("train", name, side)]
        for side in ("en", "fa")
    )
    seen = 0
    for batch in one_epoch(handler):
        sources = handler.subword.source.decode_ids(batch.source.tolist())
        targets = handler.subword.target.decode_ids(batch.labels.tolist())
        for number, source, target in zip(batch.indices.tolist(), sources, targets, strict=True):
            assert (source, target) == (english[number], persian[number])
            seen += 1
    assert seen == len(english) == handler.pair_count("train") >= 200


def test_special_tokens_are_in_place_in_real_batches(handler: DataHandler) -> None:
    for batch in one_epoch(handler):
        assert bool((batch.target_input[:, 0] == SOS).all())
        assert (batch.source == EOS).sum(1).tolist() == [1] * batch.size == (batch.labels == EOS).sum(1).tolist()
        assert not bool((batch.target_input == EOS).any())
        assert bool((batch.source[:, -1] != PAD).any()) and bool((batch.labels[:, -1] != PAD).any())


def test_every_epoch_holds_every_pair_once_in_another_order(handler: DataHandler) -> None:
    orders = [[batch.indices.tolist() for batch in one_epoch(handler, epoch)] for epoch in range(3)]
    for order in orders:
        assert sorted(itertools.chain.from_iterable(order)) == list(range(handler.pair_count("train")))
    assert orders[0] != orders[1] != orders[2]


def test_the_seed_decides_the_order_and_nothing_else(folder: Path, handler: DataHandler) -> None:
    config = recipe(folder)
    twin = DataHandler(config)
    other = DataHandler(config.model_copy(update={"run": config.run.model_copy(update={"seed": 4})}))
    ours = [batch.indices.tolist() for batch in one_epoch(handler)]
    assert [batch.indices.tolist() for batch in one_epoch(twin)] == ours
    assert [batch.indices.tolist() for batch in one_epoch(other)] != ours
    assert other.fingerprint == twin.fingerprint == handler.fingerprint


@settings(deadline=None, max_examples=30)
@given(stop=st.integers(1, 80), more=st.integers(1, 60))
def test_a_resumed_iteration_gives_what_the_uninterrupted_one_would(stop: int, more: int) -> None:
    handler = HANDLERS[0]
    uninterrupted = list(itertools.islice(handler.train_batches(DataPosition()), stop + more))
    saved = json.loads(json.dumps(uninterrupted[stop - 1][1].state_dict()))
    resumed = list(itertools.islice(handler.train_batches(DataPosition(**saved)), more))
    assert [position for _, position in resumed] == [position for _, position in uninterrupted[stop:]]
    assert all(same(one, other) for (one, _), (other, _) in zip(resumed, uninterrupted[stop:], strict=True))


HANDLERS: list[DataHandler] = []


@pytest.fixture(autouse=True)
def _share(handler: DataHandler) -> None:
    """Let the test above, which hypothesis calls many times, have the handler."""
    HANDLERS[:] = [handler]


def test_the_position_after_the_last_batch_is_the_next_epoch(handler: DataHandler) -> None:
    count = len(one_epoch(handler))
    assert 5 < count < 80, "the test of resuming should cross the boundary"
    positions = [position for _, position in itertools.islice(handler.train_batches(DataPosition()), count + 1)]
    assert positions == [DataPosition(0, number) for number in range(1, count)] + [
        DataPosition(1, 0),
        DataPosition(1, 1),
    ]


def test_batches_keep_the_budget(folder: Path) -> None:
    handler = DataHandler(recipe(folder, max_sentences=7))
    for batch in one_epoch(handler):
        assert batch.size <= 7
        assert batch.size * max(batch.source.shape[1], batch.labels.shape[1]) <= 256


def test_validation_is_normalized_complete_and_always_the_same(tmp_path: Path) -> None:
    raw = [(f"Read  book {number}", f"كتاب {number} را  مي‌خوانم") for number in range(400, 430)]  # Arabic kaf and yeh
    config = recipe(tmp_path)
    source = {"name": "held", "path": write_tsv(tmp_path / "held.tsv", raw), "use": "validation"}
    values = config.model_dump(mode="json")
    values["corpus"]["sources"].append(source)
    handler = DataHandler(Config.model_validate(values))
    assert next(iter(handler.corpus.lines("validation", "held", "fa"))) == raw[0][1], "kept as read"
    batches = list(handler.validation_batches())
    assert sorted(itertools.chain.from_iterable(batch.indices.tolist() for batch in batches)) == list(range(50))
    assert handler.pair_count("validation") == 50
    assert all(same(one, other) for one, other in zip(batches, handler.validation_batches(), strict=True))
    texts = {
        number: text
        for batch in batches
        for number, text in zip(
            batch.indices.tolist(), handler.subword.target.decode_ids(batch.labels.tolist()), strict=True
        )
    }
    assert texts[20] == handler.normalizer.target(raw[0][1]) != raw[0][1]
    assert "ي" not in texts[20] and "ك" not in texts[20]


def test_over_long_pairs_are_counted_reported_and_never_cut(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    everything = DataHandler(recipe(tmp_path))
    lengths = {
        number: max(int((batch.source[row] != PAD).sum()), int((batch.labels[row] != PAD).sum()))
        for batch in one_epoch(everything)
        for row, number in enumerate(batch.indices.tolist())
    }
    limit = int(np.median(list(lengths.values())))
    logging.getLogger("translator").propagate = True
    with caplog.at_level(logging.WARNING, logger="translator"):
        handler = DataHandler(recipe(tmp_path, max_length=limit))
    kept = sorted(itertools.chain.from_iterable(batch.indices.tolist() for batch in one_epoch(handler)))
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
    assert any("validation pairs" in message and message.endswith("of the loss") for message in caplog.messages)
    assert handler.pair_count("validation") == sum(batch.size for batch in handler.validation_batches()) < 20
    table = handler.format_report()
    assert f"over {limit} tokens" in table and len(table.split("\n")) == 2 + 4


def test_no_training_pair_short_enough_is_a_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(
        CorpusError, match=r"no training pair is left: all \d+ are longer than batching\.max_length: 2 "
    ):
        DataHandler(recipe(tmp_path, max_length=2))


def test_test_pairs_are_counted_from_the_corpus(handler: DataHandler) -> None:
    assert handler.pair_count("test") == 10 and handler.pair_count("validation") == 20


def test_everything_is_prepared_once_and_changes_are_noticed(tmp_path: Path) -> None:
    def folders() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in (tmp_path / "prepared").iterdir()}

    first = DataHandler(recipe(tmp_path))
    before = folders()
    assert sorted(name.partition("-")[0] for name in before) == ["corpus", "subword", "tokens"]
    assert first.token_folder.name == f"tokens-{first.fingerprint}"
    again = DataHandler(recipe(tmp_path, tokens_per_batch=128))
    assert folders() == before and again.fingerprint == first.fingerprint
    with (tmp_path / "two.tsv").open("a", encoding="utf-8") as file:
        file.write("One more line.\tیک خط دیگر.\n")
    changed = DataHandler(recipe(tmp_path))
    assert changed.fingerprint != first.fingerprint and len(folders()) == 6


def test_rebuilding_gives_the_same_bytes(tmp_path: Path) -> None:
    handlers = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        handlers.append(DataHandler(recipe(tmp_path / name)))
    stores = [
        {
            path.relative_to(handler.token_folder): path.read_bytes()
            for path in sorted(handler.token_folder.rglob("*"))
            if path.is_file()
        }
        for handler in handlers
    ]
    assert stores[0] == stores[1] and len(stores[0]) == 24
    assert handlers[0].subword.sha256 == handlers[1].subword.sha256


def test_a_damaged_store_is_told_and_rebuilt(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = recipe(tmp_path)
    first = DataHandler(config)
    file = first.token_folder / "train" / "one.fa.ids"
    content = file.read_bytes()
    file.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    logging.getLogger("translator").propagate = True
    with caplog.at_level(logging.WARNING, logger="translator"):
        assert DataHandler(config).fingerprint == first.fingerprint
    assert file.read_bytes() == content
    assert [message for message in caplog.messages if "one.fa is damaged" in message and "made anew" in message]


def test_a_disk_that_loses_what_is_written_ends_the_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.data.token_store._map", lambda *arguments: np.zeros(1, np.int64))
    with pytest.raises(StorageError, match=r"is damaged \(.*\), and it has just been written; check the disk"):
        DataHandler(recipe(tmp_path))


def test_a_validation_split_may_be_empty(tmp_path: Path) -> None:
    values = recipe(tmp_path).model_dump(mode="json")
    values["corpus"]["split"]["validation"] = 0
    handler = DataHandler(Config.model_validate(values))
    assert handler.pair_count("validation") == 0 and list(handler.validation_batches()) == []
