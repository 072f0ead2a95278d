"""Preparing a corpus from files to files: in chunks, counted, leak-free, reused, and rebuilt where damaged."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpora import Rows, contents, tsv
from translator.config import CorpusConfig, SourceConfig
from translator.corpus import fingerprint
from translator.corpus.normalizer.normalizer import CURRENT_RULES
from translator.corpus.preparation_counts import EXAMPLES, CorpusReport, Example, format_report
from translator.corpus.prepare import prepare_corpus
from translator.corpus.selecting import cleaning
from translator.corpus.selecting.split import SPLITS
from translator.errors import CorpusError, StorageError


def rows(count: int, word: str = "line") -> Rows:
    """Return distinct pairs that the normalizer changes."""
    return [(f"{word} {number} , yes .", f"خط {word} {number} ، كتاب .") for number in range(count)]


def config_of(folder: Path, *sources: SourceConfig, **sections: Any) -> CorpusConfig:
    split = {"validation": 2, "test": 3}
    settings = {"sources": sources, "split": split, "prepared_directory": str(folder / "prepared"), **sections}
    return CorpusConfig.model_validate(settings)


def small(folder: Path, pairs: Rows | None = None, **settings: Any) -> SourceConfig:
    return tsv(folder / "small.tsv", rows(10) if pairs is None else pairs, **settings)


def test_a_prepared_corpus_has_normalized_training_text_and_raw_held_out_text(tmp_path: Path) -> None:
    config = config_of(tmp_path, small(tmp_path))
    corpus = prepare_corpus(config)
    assert list(corpus.lines("train", "small", "en")) == [f"line {number}, yes." for number in range(5)]
    assert list(corpus.lines("train", "small", "fa")) == [f"خط line {digit}، کتاب." for digit in "۰۱۲۳۴"]
    assert list(corpus.lines("validation", "small", "en")) == ["line 5 , yes .", "line 6 , yes ."]
    assert list(corpus.lines("test", "small", "fa")) == [f"خط line {number} ، كتاب ." for number in (7, 8, 9)]

    # It is a folder of texts and their report, which a second call reuses.
    files = {f"{split}/small.{side}" for split in SPLITS for side in ("en", "fa")}
    assert set(contents(corpus.directory)) == files | {*SPLITS, "report.json"}
    report = corpus.directory / "report.json"
    assert json.loads(report.read_bytes()) == corpus.report.to_json()
    made = report.stat()
    assert prepare_corpus(config) == corpus
    assert (report.stat().st_ino, report.stat().st_mtime_ns) == (made.st_ino, made.st_mtime_ns)
    for size in (1, 2, 5, 9):
        blocks = [block.lines() for block in corpus.blocks("train", "small", "fa", size)]
        lines = list(corpus.lines("train", "small", "fa"))
        assert blocks == [lines[begin : begin + size] for begin in range(0, 5, size)]


def test_drops_are_counted_by_rule_and_held_out_text_is_kept_as_read(tmp_path: Path) -> None:
    # One pair for each of seven rules, among good pairs; the last of these has odd characters and is held out.
    bad = [
        ("", "خالی"),
        ("word " * 101, "واژه " * 101),
        ("a" * 1001, "ب" * 1001),
        ("short", "این یکی بسیار بسیار بلند است"),
        ("дом мой", "خانه من"),
        ("English", "English"),
        ("LINE 0, YES", "خط line ۰ کتاب"),
    ]
    odd = ("  a\u2028b\u200b \r", "\u200cي\u0085ك ")
    corpus = prepare_corpus(config_of(tmp_path, small(tmp_path, [*rows(3), *bad, *rows(10)[3:], odd])))
    (report,) = corpus.report.sources
    drops = "empty too_many_words too_many_characters length_ratio source_script target_script duplicate"
    assert {rule: count for rule, count in report.dropped.items() if count} == dict.fromkeys(drops.split(), 1)
    assert corpus.report.rules_used() == drops.split()
    assert report.examples["empty"] == [Example(4, "", "خالی")]
    assert report.examples["duplicate"] == [Example(10, "LINE 0, YES", "خط line ۰ کتاب")]
    assert report.examples["too_many_characters"] == [Example(6, "a" * 299 + "…", "ب" * 299 + "…")]
    assert (report.read, report.out) == (18, 11)
    *_, last_source = corpus.lines("test", "small", "en")
    *_, last_target = corpus.lines("test", "small", "fa")
    assert (last_source, last_target) == odd


def test_the_table_of_counts_has_a_column_for_each_source_and_a_total(tmp_path: Path) -> None:
    (tmp_path / "other.tsv").write_bytes(b"no\t\xd8\n" * 4 + "yes\tبله\n".encode())
    other = SourceConfig(name="small", path=str(tmp_path / "other.tsv"), use="test", invalid_utf8="drop")
    first = small(tmp_path, [*rows(10), ("", "خالی")], use="train")
    (tmp_path / "held.tsv").write_text("Never seen.\tهرگز.\n", encoding="utf-8")
    held = SourceConfig(name="held", path=str(tmp_path / "held.tsv"))
    report = prepare_corpus(config_of(tmp_path, first, other), [held]).report
    assert [line.split() for line in format_report(report).splitlines()[2:]] == [
        ["in", "11", "5", "16"],
        ["dropped:", "invalid_utf8", "0", "4", "80.0%", "4", "25.0%"],
        ["dropped:", "empty", "1", "9.1%", "0", "1", "6.2%"],
        ["out", "10", "90.9%", "1", "20.0%", "11", "68.8%"],
        ["train", "10", "90.9%", "0", "10", "62.5%"],
        ["validation", "0", "0", "0"],
        ["test", "0", "1", "20.0%", "1", "6.2%"],
        ["small", "(test):", "4", "dropped", "by", "invalid_utf8,", "lines", "1,", "2,", "3,", "…"],
        ["kept", "out", "of", "training:", "test", "set", "held,", "1", "pairs"],
    ]
    assert report.left_out("small") == [1, 2, 3, 4]
    assert CorpusReport.from_json(json.dumps(report.to_json()).encode()) == report


def test_worker_count_and_chunk_size_do_not_change_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A source of several chunks, a source that loses nearly all of its pairs, and a test set that repeats such pairs.
    pairs = [(f"This is sentence {n} , my friend .", f"این جملهٔ {n} است ، دوست من .") for n in range(9000)]
    untranslated = [(f"English {n}", "English") for n in range(50)]
    odd = [("", "x"), *pairs[:3], *untranslated, ("mine", "مال من")]
    sources = tsv(tmp_path / "book.tsv", pairs), tsv(tmp_path / "odd.tsv", odd, use="train")
    held = tsv(tmp_path / "held.tsv", [*untranslated, ("", "x")] * 30, use="test")
    test_sets = [tsv(tmp_path / "further.tsv", untranslated)]
    corpora = []
    for chunk, workers in ((4096, 1), (4096, 2), (1000, 1)):
        monkeypatch.setattr(cleaning, "_CHUNK_PAIRS", chunk)
        config = config_of(tmp_path / f"{chunk} {workers}", *sources, held, workers=workers)
        corpora.append(prepare_corpus(config, test_sets))
    for corpus in corpora[1:]:
        assert contents(corpus.directory) == contents(corpora[0].directory)
    report = corpora[0].report
    assert report.sources[1].dropped["empty"] == 1
    assert len(report.sources[1].examples["target_script"]) == EXAMPLES
    assert report.left_out("held") == [51 * copy for copy in range(1, 31)]
    assert [(test_set.name, test_set.out) for test_set in report.test_sets] == [("further", 50)], (
        "a test set is not filtered"
    )


@pytest.mark.parametrize(
    ("split", "warning"),
    [
        ({"validation": 30, "test": 30}, ""),
        (
            {"validation": "auto", "test": 50},
            "of 150 pairs, 50 for test are held out, which leaves 97 for training; set corpus.split.test to `auto` "
            "(2% of a source, at most 1,000) or to a smaller number",
        ),
        ({"validation": 31, "test": 50}, "of 150 pairs, 31 for validation and 50 for test are held out, which leaves"),
    ],
)
def test_a_held_out_split_of_more_than_a_fifth_of_the_pairs_warns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, split: dict[str, object], warning: str
) -> None:
    named = tsv(tmp_path / "named.tsv", rows(200, "named"), use="test")  # a source with a named split does not count
    config = config_of(tmp_path, small(tmp_path, rows(150)), named, split=split)
    for _ in range(2):  # also where the prepared text is reused
        caplog.clear()
        prepare_corpus(config)
        messages = [record.getMessage() for record in caplog.records]
        assert len(messages) == bool(warning)
        assert all(message.startswith(warning) for message in messages)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (None, "the file is missing"),
        (b"one\ntw", "it has 1 complete lines instead of 2"),
        (b"one\n\xd8\n", "it is not UTF-8"),
        (b"one\ntwo\nthree\n", "it has 3 complete lines instead of 2"),
    ],
)
def test_damaged_prepared_text_is_named_with_the_folder_to_delete(
    tmp_path: Path, damage: bytes | None, reason: str
) -> None:
    corpus = prepare_corpus(config_of(tmp_path, small(tmp_path)))
    file = corpus.directory / "validation" / "small.fa"
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage)
    message = (
        f"the prepared text {file} is damaged ({reason}); delete the folder {corpus.directory} and run the same "
        "command again, which rebuilds it"
    )
    with pytest.raises(StorageError, match=re.escape(message)):
        list(corpus.lines("validation", "small", "fa"))


@pytest.mark.parametrize(("old", "new"), [("{", "["), ('"sources"', '"other"'), ("fingerprint", "0" * 64)])
def test_text_with_a_damaged_report_or_of_other_inputs_is_prepared_again(tmp_path: Path, old: str, new: str) -> None:
    config = config_of(tmp_path, small(tmp_path))
    corpus = prepare_corpus(config)
    before = contents(corpus.directory)
    report = corpus.directory / "report.json"
    # Sixteen digits name the folder, but all sixty-four must agree.
    old = corpus.fingerprint if old == "fingerprint" else old
    report.write_text(report.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    assert prepare_corpus(config) == corpus
    assert contents(corpus.directory) == before


def test_the_fingerprint_depends_on_text_settings_and_versions_but_not_on_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*sources: SourceConfig, test_sets: Any = (), rules: Any = CURRENT_RULES, **sections: Any) -> str:
        return fingerprint.corpus_fingerprint(config_of(tmp_path, *sources, **sections), test_sets, rules)

    source = small(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    assert made(source) == made(small(tmp_path / "elsewhere", obtain="from the shelf"))
    fingerprints = [
        made(source),
        made(source, test_sets=[tsv(tmp_path / "further.tsv", rows(1))]),
        made(tsv(tmp_path / "elsewhere" / "small.tsv", rows(11))),
        made(source, split={"validation": 2, "test": 3, "method": "hash"}),
        made(source, filters={"max_words": 99}),
        made(source, rules=replace(CURRENT_RULES, rules=CURRENT_RULES.rules[:-1])),
    ]
    (tmp_path / "elsewhere" / "small.csv").write_bytes((tmp_path / "small.tsv").read_bytes())
    changes: list[dict[str, Any]] = [
        {"max_pairs": 9},
        {"use": "train"},
        {"name": "other"},
        {"path": str(tmp_path / "elsewhere" / "small.csv")},  # another form
        {"source_column": 1, "target_column": 2},
        {"min_score": {"column": 1, "at_least": 1.0}},
    ]
    for change in changes:
        fingerprints.append(made(SourceConfig.model_validate(source.model_dump() | change)))
    monkeypatch.setattr(fingerprint, "PREPARE_VERSION", 0)
    fingerprints.append(made(source))
    assert len(set(fingerprints)) == len(fingerprints)


def test_failed_preparation_explains_the_problem_and_leaves_no_files(tmp_path: Path) -> None:
    def complaint(*sources: SourceConfig, test_sets: Any = ()) -> str:
        with pytest.raises(CorpusError) as caught:
            prepare_corpus(config_of(tmp_path, *sources), test_sets)
        assert contents(tmp_path / "prepared") == {}
        return str(caught.value)

    # Filters drop every pair.
    message = complaint(small(tmp_path, [("", "x"), ("", "y"), ("English", "English")]))
    assert "`small`: all 3 pairs were dropped (empty 2, target_script 1); check the text, or loosen" in message

    # Too few pairs are left for the held-out splits, or none for training.
    message = complaint(small(tmp_path, rows(4)))
    assert "`small` has 4 pairs after cleaning, but corpus.split holds out 2 for validation and 3" in message
    message = complaint(small(tmp_path, rows(5)))
    assert message.startswith("no pair is left for training (small: validation 2, test 3); hold out fewer pairs")

    # Every pair repeats another source or held-out text.
    again = tsv(tmp_path / "again.tsv", rows(10), use="train")
    message = complaint(small(tmp_path), again)
    assert "`again`: all 10 pairs were dropped (duplicate 10); it repeats another source" in message
    assert "it repeats held-out text" in complaint(again, test_sets=[small(tmp_path)])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not there to play a full disk")
@pytest.mark.parametrize("file", ["0/raw.fa", "texts", "bands"])
def test_a_full_disk_is_reported_and_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    open_file = Path.open

    def open_on_a_full_disk(path: Path, *arguments: Any, **options: Any) -> Any:
        if str(path).endswith(f"candidates/{file}"):
            path.symlink_to("/dev/full")
        return open_file(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", open_on_a_full_disk)
    pairs = [(f"This is a rather long sentence, number {n}.", f"این جملهٔ نسبتاً بلندی است، {n}.") for n in range(30)]
    with pytest.raises(StorageError, match="the disk is full; free some space there"):
        prepare_corpus(config_of(tmp_path, small(tmp_path, pairs)))
    assert contents(tmp_path / "prepared") == {}
