"""Preparing a corpus from files to files."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from translator.config import CorpusConfig, SourceConfig
from translator.corpus import prepare
from translator.corpus.candidates import Candidates, collect_candidates
from translator.corpus.normalize import fold
from translator.corpus.prepare import PreparedCorpus, Side, corpus_fingerprint, prepare_corpus
from translator.corpus.report import RULES, format_report
from translator.corpus.sources import read_pairs
from translator.corpus.split import SPLITS
from translator.errors import CorpusError, StorageError

DATA = Path("../shared/data")
Rows = Sequence[tuple[str, str]]
LETTERS = "ابپتثجچحخدذرزژسشصضطظعغ"


def rows(count: int, word: str = "line") -> list[tuple[str, str]]:
    """Return different pairs, written as no normalizer would leave them."""
    return [(f"{word} {number} , yes .", f"خط {word} {number} ، كتاب .") for number in range(count)]


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., dict[str, object]]:
    def write(name: str, pairs: Rows, use: str = "auto", file: str | None = None) -> dict[str, object]:
        path = tmp_path / (file or f"{name}-{use}.tsv")
        path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
        return {"name": name, "path": str(path), "use": use}

    return write


def config(tmp_path: Path, *sources: dict[str, object], **sections: object) -> CorpusConfig:
    return CorpusConfig.model_validate(
        {
            "sources": list(sources),
            "split": {"validation": 2, "test": 3},
            "prepared_directory": str(tmp_path / "prepared"),
            **sections,
        }
    )


def content(corpus: PreparedCorpus) -> dict[str, bytes]:
    return {
        str(path.relative_to(corpus.directory)): path.read_bytes()
        for path in sorted(corpus.directory.rglob("*"))
        if path.is_file()
    }


def test_from_text_to_splits(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    corpus = prepare_corpus(config(tmp_path, table("small", rows(10))))
    assert corpus.directory == tmp_path / "prepared" / f"corpus-{corpus.fingerprint[:16]}"
    assert list(corpus.lines("train", "small", "en")) == [f"line {number}, yes." for number in range(5)]
    assert list(corpus.lines("train", "small", "fa")) == [f"خط line {digit}، کتاب." for digit in "۰۱۲۳۴"]
    assert list(corpus.lines("validation", "small", "en")) == ["line 5 , yes .", "line 6 , yes ."]
    assert list(corpus.lines("test", "small", "fa")) == [f"خط line {number} ، كتاب ." for number in (7, 8, 9)]
    assert [corpus.count(split, "small") for split in ("train", "validation", "test")] == [5, 2, 3]
    assert corpus.names("train") == corpus.names("test") == ["small"]
    assert "small" in format_report(corpus.report)
    assert set(content(corpus)) == {"report.json"} | {
        f"{split}/small.{side}" for split in ("train", "validation", "test") for side in ("en", "fa")
    }
    assert json.loads((corpus.directory / "report.json").read_text(encoding="utf-8")) == json.loads(
        json.dumps(corpus.report.to_json())
    )


def test_held_out_text_is_as_it_was_read(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    odd = ("  a\u2028b\u200b \r", "\u200cي\u0085ك ")
    corpus = prepare_corpus(config(tmp_path, table("odd", [*rows(9), odd])))
    assert (list(corpus.lines("test", "odd", "en"))[-1], list(corpus.lines("test", "odd", "fa"))[-1]) == odd


def test_counts_of_every_rule(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    bad = [
        ("", "خالی"),
        ("word " * 101, "واژه " * 101),
        ("a" * 1001, "ب" * 1001),
        ("short", "این یکی بسیار بسیار بلند است"),
        ("дом мой", "خانه من"),
        ("English", "English"),
        ("LINE 0, YES", "خط line ۰ کتاب"),
    ]
    corpus = prepare_corpus(config(tmp_path, table("small", [*rows(3), *bad, *rows(10)[3:]])))
    dropped = corpus.report.sources[0].dropped
    assert {rule: count for rule, count in dropped.items() if count} == {
        "empty": 1,
        "too_many_words": 1,
        "too_many_characters": 1,
        "length_ratio": 1,
        "source_script": 1,
        "target_script": 1,
        "duplicate": 1,
    }
    assert set(dropped) == set(RULES)
    assert corpus.report.sources[0].read == 17
    assert sum(corpus.report.sources[0].kept.values()) == 10


def test_held_out_sides_are_kept_out_of_training(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    ends = rows(10)[-5:]
    leaking = [
        (ends[0][0].upper(), "چیز دیگر"),
        ("something else", ends[4][1].replace("ك", "ک")),
        ("new", "نو"),
        ("good", "خوب"),
    ]
    further = SourceConfig.model_validate(table("flores", [("New!", "x")]))
    corpus = prepare_corpus(config(tmp_path, table("a", rows(10)), table("b", leaking, "train")), [further])
    assert corpus.report.sources[1].dropped["source_held_out"] == 2
    assert corpus.report.sources[1].dropped["target_held_out"] == 1
    assert list(corpus.lines("train", "b", "en")) == ["good"]
    assert corpus.report.test_sets[0].pairs == 1


def test_one_name_for_three_splits(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    parts = {"train": rows(6, "one"), "validation": rows(2, "two"), "test": [*rows(3, "three"), *rows(1, "three")]}
    corpus = prepare_corpus(config(tmp_path, *(table("sample", pairs, use) for use, pairs in parts.items())))
    for split in SPLITS:
        assert corpus.names(split) == ["sample"]
    assert [corpus.count(split, "sample") for split in SPLITS] == [6, 2, 4]
    assert [(source.use, source.read) for source in corpus.report.sources] == [
        ("train", 6),
        ("validation", 2),
        ("test", 4),
    ]


def test_named_test_set_is_not_filtered(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    strange = [("OK", "OK"), ("a" * 30, "ب"), ("", "خالی")]
    corpus = prepare_corpus(config(tmp_path, table("a", rows(8), "train"), table("b", strange, "test")))
    assert list(corpus.lines("test", "b", "fa")) == ["OK", "ب"]
    assert corpus.report.sources[1].dropped["empty"] == 1


def test_second_call_reuses_the_first(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    settings = config(tmp_path, table("small", rows(10)))
    first = prepare_corpus(settings)
    before = (first.directory / "report.json").stat()
    second = prepare_corpus(settings)
    after = (second.directory / "report.json").stat()
    assert second == first
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("damage", ["{", "[]", '{"fingerprint": "x"}'])
def test_damaged_report_is_made_anew(tmp_path: Path, table: Callable[..., dict[str, object]], damage: str) -> None:
    settings = config(tmp_path, table("small", rows(10)))
    first = prepare_corpus(settings)
    before = content(first)
    (first.directory / "report.json").write_text(damage, encoding="utf-8")
    assert content(prepare_corpus(settings)) == before


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (None, "the file is missing"),
        (b"", "it has 0 whole lines, 2 were written"),
        (b"one\ntw", "it has 1 whole lines, 2 were written"),
        (b"one\n\xd8", "it is not UTF-8"),
        (b"one\ntwo\nthree\n", "it has 3 whole lines, 2 were written"),
    ],
)
def test_damaged_text_says_which_folder_to_delete(
    tmp_path: Path, table: Callable[..., dict[str, object]], damage: bytes | None, reason: str
) -> None:
    settings = config(tmp_path, table("small", rows(10)))
    first = prepare_corpus(settings)
    before = content(first)
    file = first.directory / "validation" / "small.fa"
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage)
    with pytest.raises(StorageError) as caught:
        list(first.lines("validation", "small", "fa"))
    assert str(caught.value) == (
        f"the prepared text {file} is damaged ({reason}); delete the folder {first.directory} and run the same command "
        "again: it is rebuilt"
    )
    assert content(prepare_corpus(settings)) == before


@pytest.mark.parametrize("file", ["train/small.en", "test/small.fa"])
def test_text_that_was_changed_is_made_anew(
    tmp_path: Path, table: Callable[..., dict[str, object]], file: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Even where the number of lines and of bytes is right."""
    settings = config(tmp_path, table("small", rows(10)))
    first = prepare_corpus(settings)
    before = content(first)
    changed = bytearray(before[file])
    changed[0] ^= 1
    (first.directory / file).write_bytes(changed)
    assert content(prepare_corpus(settings)) == before
    assert "is not what was written; it is made anew" in caplog.text


def test_folder_of_another_fingerprint_is_made_anew(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    """Sixteen digits name the folder, but all sixty-four must agree."""
    settings = config(tmp_path, table("small", rows(10)))
    first = prepare_corpus(settings)
    before = content(first)
    report = first.directory / "report.json"
    report.write_text(report.read_text(encoding="utf-8").replace(first.fingerprint, "0" * 64), encoding="utf-8")
    assert content(prepare_corpus(settings)) == before


def test_fingerprint_does_not_hang_on_the_place(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    here = table("small", rows(10), file="here.tsv")
    there = {**table("small", rows(10), file="there.tsv"), "obtain": "from the shelf"}
    elsewhere = config(tmp_path, there, prepared_directory=str(tmp_path / "elsewhere"))
    first, second = prepare_corpus(config(tmp_path, here)), prepare_corpus(elsewhere)
    assert first.fingerprint == second.fingerprint
    assert first.directory != second.directory
    assert content(first) == content(second)


def test_fingerprint_hangs_on_all_that_matters(
    tmp_path: Path, table: Callable[..., dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = table("small", rows(10))
    base = config(tmp_path, small)
    further = SourceConfig.model_validate(table("further", rows(1)))
    prints = [
        corpus_fingerprint(base),
        corpus_fingerprint(base, [further]),
        corpus_fingerprint(config(tmp_path, {**small, "max_pairs": 9})),
        corpus_fingerprint(config(tmp_path, {**small, "use": "train"})),
        corpus_fingerprint(config(tmp_path, {**small, "name": "other"})),
        corpus_fingerprint(config(tmp_path, small, split={"validation": 2, "test": 3, "seed": 2})),
        corpus_fingerprint(config(tmp_path, small, filters={"max_words": 99})),
        corpus_fingerprint(config(tmp_path, small, normalization={"tatweel": False})),
        corpus_fingerprint(config(tmp_path, table("small", rows(11), file="longer.tsv"))),
    ]
    monkeypatch.setattr(prepare, "NORMALIZER_VERSION", 0)
    prints.append(corpus_fingerprint(base))
    monkeypatch.setattr(prepare, "PREPARE_VERSION", 0)
    prints.append(corpus_fingerprint(base))
    assert len(set(prints)) == len(prints)


def complaint(settings: CorpusConfig) -> str:
    with pytest.raises(CorpusError) as caught:
        prepare_corpus(settings)
    left_over = list(Path(settings.prepared_directory).rglob("*"))
    assert left_over == []
    return str(caught.value)


def test_all_pairs_filtered(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    message = complaint(config(tmp_path, table("small", [("", "x"), ("", "y"), ("English", "English")])))
    assert "`small`: all 3 pairs were dropped (empty 2, target_script 1); check the text" in message
    assert "loosen corpus.filters" in message


def test_a_source_that_repeats_another_is_told_as_that(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    again = table("again", rows(10), "train")
    message = complaint(config(tmp_path, table("small", rows(10)), again))
    assert "`again`: all 10 pairs were dropped (duplicate 10); it repeats another source" in message
    test_set = SourceConfig.model_validate(table("held", rows(10)))
    with pytest.raises(CorpusError, match="it repeats what is held out"):
        prepare_corpus(config(tmp_path, again), [test_set])


def test_held_out_larger_than_the_source(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    message = complaint(config(tmp_path, table("small", rows(4))))
    assert "`small` has 4 pairs after cleaning, but corpus.split holds out 2 for validation and 3" in message


def test_nothing_left_to_train_on(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    message = complaint(config(tmp_path, table("small", rows(5))))
    assert message.startswith("no pair is left for training (small: validation 2, test 3)")
    assert "hold out fewer pairs" in message


def test_unreadable_source_leaves_nothing_behind(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    source = table("small", rows(10))
    with Path(str(source["path"])).open("ab") as stream:
        stream.write(b"\xff\n")
    assert "line 11: not UTF-8" in complaint(config(tmp_path, source))


def test_folder_that_cannot_be_written(tmp_path: Path, table: Callable[..., dict[str, object]]) -> None:
    (tmp_path / "prepared").write_text("a file", encoding="utf-8")
    with pytest.raises(StorageError, match=r"cannot write .*prepared"):
        prepare_corpus(config(tmp_path, table("small", rows(10))))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not there to play a full disk")
def test_full_disk(tmp_path: Path, table: Callable[..., dict[str, object]], monkeypatch: pytest.MonkeyPatch) -> None:
    settings = config(tmp_path, table("small", rows(10)))

    def on_a_full_disk(*arguments: Any) -> list[Candidates]:
        _, _, folder, shelf, _ = arguments
        (folder / "0").mkdir()
        (folder / "0" / "raw.fa").symlink_to("/dev/full")
        return collect_candidates(settings, (), folder, shelf, 1)

    monkeypatch.setattr(prepare, "collect_candidates", on_a_full_disk)
    with pytest.raises(StorageError, match="the disk is full; free some space there"):
        prepare_corpus(settings)
    assert list((tmp_path / "prepared").iterdir()) == []


@pytest.mark.skipif(not DATA.is_dir(), reason="the real corpora are not in ../shared/data")
@pytest.mark.parametrize("method", ["block", "hash"])
def test_real_corpora_have_no_side_in_two_splits(tmp_path: Path, method: str) -> None:
    sources: list[dict[str, object]] = [
        {"name": "mizan", "path": str(DATA / "mizan.zip"), "max_pairs": 4000},
        {"name": "tatoeba", "path": str(DATA / "tatoeba.zip")},
        {"name": "quran", "path": str(DATA / "quran.en-fa.zip"), "max_pairs": 3000},
    ]
    settings = {"method": method, "validation": 200, "test": 300, "block_size": 50 if method == "block" else None}
    corpus = prepare_corpus(config(tmp_path, *sources, split=settings))
    sides: tuple[Side, Side] = ("en", "fa")
    for side in sides:
        train, validation, test = (
            {fold(text) for name in corpus.names(split) for text in corpus.lines(split, name, side)} for split in SPLITS
        )
        assert not train & validation
        assert not train & test
        assert not validation & test
        for split in SPLITS:
            for name in corpus.names(split):
                assert sum(1 for _ in corpus.lines(split, name, side)) == corpus.count(split, name) > 0
    raw = {pair.source for pair in read_pairs(SourceConfig.model_validate(sources[1]))}
    assert set(corpus.lines("test", "tatoeba", "en")) <= raw
