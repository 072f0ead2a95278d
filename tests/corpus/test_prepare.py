"""Preparing a corpus from files to files: in chunks, counted, leak-free, reused, and rebuilt where damaged."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpora import Rows, contents, tsv
from tests.support.worker_stand_in import map_in_two_processes
from translator.config import CorpusConfig, SourceConfig
from translator.corpus import fingerprint
from translator.corpus.normalizer.normalizer import CURRENT_RULES
from translator.corpus.preparation_counts import EXAMPLES, CorpusReport, Example, format_report
from translator.corpus.prepare import prepare_corpus
from translator.corpus.reading.lines import Pair
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
    odd = ("  a\u2028b\u200b \r", "\u200cي\u0085ك ")
    config = config_of(tmp_path, small(tmp_path, [*rows(9), odd]))
    corpus = prepare_corpus(config)
    assert list(corpus.lines("train", "small", "en")) == [f"line {number}, yes." for number in range(5)]
    assert list(corpus.lines("train", "small", "fa")) == [f"خط line {digit}، کتاب." for digit in "۰۱۲۳۴"]
    assert list(corpus.pairs("validation", "small")) == rows(10)[5:7]
    assert list(corpus.pairs("test", "small")) == [*rows(10)[7:9], odd]

    # It is a folder of texts and their report, which a second call reuses.
    files = {f"{split}/small.{side}" for split in SPLITS for side in ("en", "fa")}
    assert set(contents(corpus.directory)) == files | {*SPLITS, "report.json"}
    report = corpus.directory / "report.json"
    assert json.loads(report.read_bytes()) == corpus.report.to_json()
    made = report.stat().st_mtime_ns
    assert prepare_corpus(config) == corpus
    assert report.stat().st_mtime_ns == made


def test_drops_are_counted_by_source_and_rule_with_examples(tmp_path: Path) -> None:
    bad = [("", "خالی"), ("a" * 1001, "ب" * 1001), ("LINE 0, YES", "خط line ۰ کتاب")]
    first = small(tmp_path, [*rows(3), *bad, *rows(10)[3:]], use="train")
    (tmp_path / "other.tsv").write_bytes(b"no\t\xd8\n" * 4 + "yes\tبله\n".encode())
    other = SourceConfig(name="small", path=str(tmp_path / "other.tsv"), use="test", invalid_utf8="drop")
    held = tsv(tmp_path / "held.tsv", [("Never seen.", "هرگز.")], use="test")
    report = prepare_corpus(config_of(tmp_path, first, other), [held]).report
    assert [" ".join(line.split()) for line in format_report(report).splitlines()[2:]] == [
        "in 13 5 18",
        "dropped: invalid_utf8 0 4 80.0% 4 22.2%",
        "dropped: empty 1 7.7% 0 1 5.6%",
        "dropped: too_many_characters 1 7.7% 0 1 5.6%",
        "dropped: duplicate 1 7.7% 0 1 5.6%",
        "out 10 76.9% 1 20.0% 11 61.1%",
        "train 10 76.9% 0 10 55.6%",
        "validation 0 0 0",
        "test 0 1 20.0% 1 5.6%",
        "small (test): 4 dropped by invalid_utf8, lines 1, 2, 3, …",
        "kept out of training: test set held, 1 pairs",
    ]
    assert report.sources[0].examples == {
        "empty": [Example(4, "", "خالی")],
        "too_many_characters": [Example(5, "a" * 299 + "…", "ب" * 299 + "…")],
        "duplicate": [Example(6, "LINE 0, YES", "خط line ۰ کتاب")],
    }
    assert CorpusReport.from_json(json.dumps(report.to_json()).encode()) == report


def test_worker_count_and_chunk_size_do_not_change_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A source of several chunks, one that loses nearly all of its pairs, and test sets, which are not filtered.
    untranslated = [(f"English {n}", "English") for n in range(50)]
    odd = [("", "x"), *rows(3), *untranslated, ("mine", "مال من")]
    sources = tsv(tmp_path / "book.tsv", rows(100)), tsv(tmp_path / "odd.tsv", odd, use="train")
    held = tsv(tmp_path / "held.tsv", [*untranslated, ("", "x")] * 3, use="test")
    test_sets = [tsv(tmp_path / "further.tsv", untranslated, use="test")]
    whole = prepare_corpus(config_of(tmp_path / "1", *sources, held, workers=1), test_sets)
    monkeypatch.setattr(cleaning, "CHUNK_PAIRS", 20)
    monkeypatch.setattr(cleaning, "map_in_order", map_in_two_processes)
    divided = prepare_corpus(config_of(tmp_path / "2", *sources, held, workers=2), test_sets)
    assert contents(divided.directory) == contents(whole.directory)
    report = divided.report
    assert len(report.sources[1].examples["target_script"]) == EXAMPLES
    assert report.sources[2].left_out == [51, 102, 153]
    assert [(test_set.name, test_set.out) for test_set in report.test_sets] == [("further", 50)]


def test_long_texts_make_short_chunks_so_that_memory_stays_flat() -> None:
    pairs = [Pair(number, "a" * 600_000, "b") for number in range(5)]
    chunks = list(cleaning.chunks_of(pairs))
    assert [len(chunk) for chunk in chunks] == [2, 2, 1]
    assert [pair for chunk in chunks for pair in chunk] == pairs


def test_a_held_out_split_of_more_than_a_fifth_of_the_pairs_warns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    named = tsv(tmp_path / "named.tsv", rows(200, "named"), use="test")  # a source with a named split does not count
    source = small(tmp_path, rows(150))
    prepare_corpus(config_of(tmp_path, source, named, split={"validation": 30, "test": 30}))
    assert caplog.messages == []
    for _ in range(2):  # the second time, the text is reused
        prepare_corpus(config_of(tmp_path, source, named, split={"validation": "auto", "test": 50}))
    start = "of 150 pairs, 50 for test are held out, which leaves 97 for training; set corpus.split.test to"
    assert [message.startswith(start) for message in caplog.messages] == [True, True]


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
    message = f"the prepared text {file} is damaged ({reason}); delete the folder {corpus.directory} and run"
    with pytest.raises(StorageError, match=re.escape(message)):
        list(corpus.lines("validation", "small", "fa"))


@pytest.mark.parametrize("damage", [("{", "["), ('"sources"', '"other"')])
def test_text_with_a_damaged_report_is_prepared_again(tmp_path: Path, damage: tuple[str, str]) -> None:
    config = config_of(tmp_path, small(tmp_path))
    corpus = prepare_corpus(config)
    before = contents(corpus.directory)
    report = corpus.directory / "report.json"
    report.write_text(report.read_text(encoding="utf-8").replace(*damage), encoding="utf-8")
    assert prepare_corpus(config) == corpus
    assert contents(corpus.directory) == before

    # One that the system refuses is named.
    report.unlink()
    report.mkdir()
    with pytest.raises(StorageError, match=f"cannot read {re.escape(str(report))}"):
        prepare_corpus(config)


def test_the_fingerprint_depends_on_text_settings_and_versions_but_not_on_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = small(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def made(source: SourceConfig = source, test_sets: Any = (), rules: Any = CURRENT_RULES, **sections: Any) -> str:
        return fingerprint.corpus_fingerprint(config_of(tmp_path, source, **sections), test_sets, rules)

    same = small(tmp_path / "elsewhere", obtain="from the shelf")
    assert made() == made(same)
    table = Path(str(same.path)).rename(tmp_path / "small.csv")  # another form
    fingerprints = [
        made(),
        made(small(tmp_path / "elsewhere", rows(11))),
        made(test_sets=[source]),
        made(rules=replace(CURRENT_RULES, rules=CURRENT_RULES.rules[:-1])),
        made(filters={"max_words": 99}),
    ]
    changes: list[dict[str, object]] = [{"path": str(table)}, {"use": "train"}, {"tag": True}]
    fingerprints += [made(source.model_copy(update=change)) for change in changes]
    monkeypatch.setattr(fingerprint, "PREPARE_VERSION", 0)
    fingerprints.append(made())
    assert len(set(fingerprints)) == len(fingerprints)


def test_failed_preparation_explains_the_problem_and_leaves_no_files(tmp_path: Path) -> None:
    again = tsv(tmp_path / "again.tsv", rows(10), use="train")
    bad = [("", "x"), ("", "y"), ("English", "English")]
    for pairs, others, message in (
        (bad, [], "all 3 pairs were dropped (empty 2, target_script 1); check the text, or loosen"),
        (rows(4), [], "`small` has 4 pairs after cleaning, but corpus.split holds out 2 for validation and 3"),
        (rows(5), [], "no pair is left for training (small: validation 2, test 3); hold out fewer pairs"),
        (rows(10), [again], "`again`: all 10 pairs were dropped (duplicate 10); it repeats another source"),
    ):
        with pytest.raises(CorpusError, match=re.escape(message)):
            prepare_corpus(config_of(tmp_path, small(tmp_path, pairs), *others))
    with pytest.raises(CorpusError, match="it repeats held-out text"):
        prepare_corpus(config_of(tmp_path, again), [small(tmp_path, use="test")])
    assert contents(tmp_path / "prepared") == {}
