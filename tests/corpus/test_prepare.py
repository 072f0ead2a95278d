"""Preparing a corpus from files to files: in chunks, counted, leak-free, reused, and rebuilt where damaged."""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpora import Rows, contents, tsv
from translator.config import CorpusConfig, SourceConfig
from translator.corpus import fingerprint, prepare
from translator.corpus.file_hashes import hashes_of_files
from translator.corpus.fingerprint import corpus_fingerprint
from translator.corpus.normalizer.normalizer import CURRENT_RULES
from translator.corpus.normalizer.rules import NormalizerRules
from translator.corpus.preparation_counts import EXAMPLES, RULES, Example, format_report
from translator.corpus.prepare import prepare_corpus
from translator.corpus.prepared_corpus import PreparedCorpus, Side
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.selecting import candidates, cleaning
from translator.corpus.selecting.candidates import Candidates, collect_candidates
from translator.corpus.selecting.folding import fold
from translator.corpus.selecting.split import SPLITS
from translator.errors import CorpusError, StorageError

DATA = Path("../shared/data")


def rows(count: int, word: str = "line") -> Rows:
    """Return distinct pairs that the normalizer changes."""
    return [(f"{word} {number} , yes .", f"خط {word} {number} ، كتاب .") for number in range(count)]


def config_of(folder: Path, *sources: SourceConfig, **sections: Any) -> CorpusConfig:
    split = {"validation": 2, "test": 3}
    settings = {"sources": sources, "split": split, "prepared_directory": str(folder / "prepared"), **sections}
    return CorpusConfig.model_validate(settings)


def small(folder: Path, pairs: Sequence[tuple[str, str]] = (), **settings: Any) -> SourceConfig:
    return tsv(folder / "small.tsv", list(pairs) or rows(10), **settings)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[CorpusConfig, PreparedCorpus]:
    """Ten pairs, prepared once; to be read only."""
    folder = tmp_path_factory.mktemp("whole")
    config = config_of(folder, small(folder))
    return config, prepare_corpus(config)


@pytest.fixture
def copied(whole: tuple[CorpusConfig, PreparedCorpus], tmp_path: Path) -> tuple[CorpusConfig, PreparedCorpus]:
    """A copy of `whole` that a test may damage."""
    config, corpus = whole
    shutil.copytree(config.prepared_directory, tmp_path / "prepared")
    config = config.model_copy(update={"prepared_directory": str(tmp_path / "prepared")})
    return config, PreparedCorpus(tmp_path / "prepared" / corpus.directory.name, corpus.fingerprint, corpus.report)


def test_training_text_is_normalized_and_held_out_text_is_left_raw(whole: tuple[CorpusConfig, PreparedCorpus]) -> None:
    _, corpus = whole
    normalized_english = [f"line {number}, yes." for number in range(5)]
    normalized_persian = [f"خط line {digit}، کتاب." for digit in "۰۱۲۳۴"]
    raw_persian = [f"خط line {number} ، كتاب ." for number in (7, 8, 9)]
    assert list(corpus.lines("train", "small", "en")) == normalized_english
    assert list(corpus.lines("train", "small", "fa")) == normalized_persian
    assert list(corpus.lines("validation", "small", "en")) == ["line 5 , yes .", "line 6 , yes ."]
    assert list(corpus.lines("test", "small", "fa")) == raw_persian
    assert [corpus.count(split, "small") for split in SPLITS] == [5, 2, 3]
    assert corpus.names("train") == corpus.names("test") == ["small"]


def test_a_prepared_corpus_is_a_folder_of_texts_and_their_report(whole: tuple[CorpusConfig, PreparedCorpus]) -> None:
    config, corpus = whole
    assert corpus.directory == Path(config.prepared_directory) / f"corpus-{corpus.fingerprint[:16]}"
    files = {f"{split}/small.{side}" for split in SPLITS for side in ("en", "fa")}
    assert set(contents(corpus.directory)) == files | {*SPLITS, "report.json"}
    stored_report = json.loads((corpus.directory / "report.json").read_bytes())
    assert stored_report == json.loads(json.dumps(corpus.report.to_json()))


def test_report_counts_drops_by_rule_and_held_out_text_is_kept_as_read(tmp_path: Path) -> None:
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
    pairs = [*rows(3), *bad, *rows(10)[3:], odd]
    corpus = prepare_corpus(config_of(tmp_path, small(tmp_path, pairs)))

    report = corpus.report.sources[0]
    drops = "empty too_many_words too_many_characters length_ratio source_script target_script duplicate"
    assert {rule: count for rule, count in report.dropped.items() if count} == dict.fromkeys(drops.split(), 1)
    assert set(report.dropped) == set(RULES)
    assert report.examples["empty"] == (Example(4, "", "خالی"),)
    assert (report.read, sum(report.kept.values())) == (18, 11)

    *_, last_source = corpus.lines("test", "small", "en")
    *_, last_target = corpus.lines("test", "small", "fa")
    assert (last_source, last_target) == odd
    assert "small" in format_report(corpus.report)


def test_worker_count_and_chunk_size_do_not_change_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A source of several chunks, a source that loses nearly all of its pairs, and a test set that repeats such pairs.
    pairs = [(f"This is sentence {n} , my friend .", f"این جملهٔ {n} است ، دوست من .") for n in range(9000)]
    untranslated = [(f"English {n}", "English") for n in range(50)]
    odd = [("", "x"), *pairs[:3], *untranslated, ("mine", "مال من")]
    sources = tsv(tmp_path / "book.tsv", pairs), tsv(tmp_path / "odd.tsv", odd, use="train")
    test_sets = [tsv(tmp_path / "further.tsv", untranslated)]

    corpora = []
    for chunk, workers in ((cleaning._CHUNK_PAIRS, 1), (cleaning._CHUNK_PAIRS, 2), (1000, 1)):
        monkeypatch.setattr(cleaning, "_CHUNK_PAIRS", chunk)
        config = config_of(tmp_path / f"{chunk} {workers}", *sources, workers=workers)
        corpus = prepare_corpus(config, test_sets)
        assert prepare_corpus(config, test_sets) == corpus
        corpora.append(corpus)

    expected = contents(corpora[0].directory)
    for corpus in corpora[1:]:
        assert contents(corpus.directory) == expected
    report = corpora[0].report
    assert report.sources[1].dropped["empty"] == 1
    assert len(report.sources[1].examples["target_script"]) == EXAMPLES
    assert report.test_sets[0].pairs == 50, "a test set is not filtered"


def test_sources_for_different_splits_may_share_a_name(tmp_path: Path) -> None:
    parts = {
        "train": rows(6, "one"),
        "validation": rows(2, "two"),
        "test": [*rows(3, "three"), *rows(1, "three")],  # a test set keeps its duplicates
    }
    sources = [tsv(tmp_path / f"{use}.tsv", pairs, name="sample", use=use) for use, pairs in parts.items()]
    corpus = prepare_corpus(config_of(tmp_path, *sources))
    assert [corpus.names(split) for split in SPLITS] == [["sample"]] * 3
    assert [corpus.count(split, "sample") for split in SPLITS] == [6, 2, 4]
    reports = corpus.report.sources
    assert [(report.use, report.read) for report in reports] == [("train", 6), ("validation", 2), ("test", 4)]


@pytest.mark.parametrize(
    ("split", "warning"),
    [
        ({}, None),
        ({"validation": 30, "test": 30}, None),
        (
            {"validation": "auto", "test": 50},
            "of 150 pairs, 50 for test are held out, which leaves 97 for training; set corpus.split.test to `auto` "
            "(2% of a source, at most 1,000) or to a smaller number",
        ),
        ({"validation": 31, "test": 50}, "of 150 pairs, 31 for validation and 50 for test are held out, which leaves"),
    ],
)
def test_a_held_out_split_of_more_than_a_fifth_of_the_pairs_warns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, split: dict[str, object], warning: str | None
) -> None:
    named = tsv(tmp_path / "named.tsv", rows(200, "named"), use="test")  # a source with a named split does not count
    config = config_of(tmp_path, small(tmp_path, rows(150)), named, split=split)
    for _ in range(2):  # also where the prepared text is reused
        caplog.clear()
        corpus = prepare_corpus(config)
        messages = [record.getMessage() for record in caplog.records]
        if warning is None:
            assert messages == []
        else:
            assert len(messages) == 1
            assert messages[0].startswith(warning)
    if not split:
        assert [corpus.count(name, "small") for name in SPLITS] == [144, 3, 3]


def test_second_call_reuses_the_prepared_corpus(whole: tuple[CorpusConfig, PreparedCorpus]) -> None:
    config, first = whole
    before = (first.directory / "report.json").stat()
    assert prepare_corpus(config) == first
    after = (first.directory / "report.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_the_blocks_of_a_text_have_all_its_lines(whole: tuple[CorpusConfig, PreparedCorpus], size: int) -> None:
    _, corpus = whole
    lines = list(corpus.lines("train", "small", "fa"))
    blocks = [block.lines() for block in corpus.blocks("train", "small", "fa", size)]
    assert blocks == [lines[begin : begin + size] for begin in range(0, len(lines), size)]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (None, "the file is missing"),
        (b"", "it has 0 complete lines instead of 2"),
        (b"one\ntw", "it has 1 complete lines instead of 2"),
        (b"one\n\xd8\n", "it is not UTF-8"),
        (b"one\ntwo\nthree\n", "it has 3 complete lines instead of 2"),
    ],
)
def test_damaged_prepared_text_error_names_the_folder_to_delete(
    copied: tuple[CorpusConfig, PreparedCorpus], damage: bytes | None, reason: str
) -> None:
    config, corpus = copied
    before = contents(corpus.directory)
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
    with pytest.raises(StorageError, match=re.escape(message)):
        [block.lines() for block in corpus.blocks("validation", "small", "fa", size=2)]
    assert contents(prepare_corpus(config).directory) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("report.json", b"{", b"["),
        ("report.json", b'"sources"', b'"other"'),
        ("train/small.en", b"line 0", b"lime 0"),  # the same number of lines and bytes
        ("test/small.fa", b".", b"!"),
        ("report.json", None, b"0" * 64),  # sixteen digits name the folder, but all sixty-four must agree
    ],
)
def test_altered_prepared_files_are_prepared_again(
    copied: tuple[CorpusConfig, PreparedCorpus], file: str, old: bytes | None, new: bytes
) -> None:
    config, corpus = copied
    before = contents(corpus.directory)
    path = corpus.directory / file
    path.write_bytes(path.read_bytes().replace(old or corpus.fingerprint.encode(), new))
    assert contents(corpus.directory) != before
    assert contents(prepare_corpus(config).directory) == before


def test_fingerprint_does_not_depend_on_file_paths(tmp_path: Path, whole: tuple[CorpusConfig, PreparedCorpus]) -> None:
    first = whole[1]
    second = prepare_corpus(config_of(tmp_path, small(tmp_path, obtain="from the shelf")))
    assert first.fingerprint == second.fingerprint and first.directory != second.directory
    assert contents(first.directory) == contents(second.directory)


def fingerprint_with(
    config: CorpusConfig, test_sets: Sequence[SourceConfig] = (), rules: NormalizerRules = CURRENT_RULES
) -> str:
    hashes = tuple(hashes_of_files(source) for source in (*config.sources, *test_sets))
    return corpus_fingerprint(config, test_sets, rules, hashes)


def test_fingerprint_depends_on_sources_settings_and_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = small(tmp_path)
    base = config_of(tmp_path, source)
    changes: list[dict[str, Any]] = [{"max_pairs": 9}, {"use": "train"}, {"name": "other"}]
    changed_sources = [source.model_copy(update=change) for change in changes]
    changed_sources.append(tsv(tmp_path / "longer.tsv", rows(11)))
    split = {"validation": 2, "test": 3, "method": "hash"}
    fingerprints = [
        fingerprint_with(base),
        fingerprint_with(base, [tsv(tmp_path / "further.tsv", rows(1))]),
        *(fingerprint_with(config_of(tmp_path, changed_source)) for changed_source in changed_sources),
        fingerprint_with(config_of(tmp_path, source, split=split)),
        fingerprint_with(config_of(tmp_path, source, filters={"max_words": 99})),
        fingerprint_with(config_of(tmp_path, source, normalization={"digits": "keep"})),
    ]
    without_last_rule = replace(CURRENT_RULES, rules=CURRENT_RULES.rules[:-1])
    fingerprints.append(fingerprint_with(base, rules=without_last_rule))
    monkeypatch.setattr(fingerprint, "PREPARE_VERSION", 0)
    fingerprints.append(fingerprint_with(base))
    assert len(set(fingerprints)) == len(fingerprints)


def test_a_file_that_changes_while_it_is_read_is_not_stored_under_its_old_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(tmp_path, small(tmp_path))

    def read_and_change(source: SourceConfig, *arguments: Any) -> Any:
        small(tmp_path, rows(10, "other"))
        yield from read_pairs(source, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(candidates, "read_pairs", read_and_change)
        with pytest.raises(CorpusError, match=r"small\.tsv changed while it was read"):
            prepare_corpus(config)
    assert not list((tmp_path / "prepared").glob("*")), "nothing is stored"
    corpus = prepare_corpus(config)
    assert next(corpus.lines("train", "small", "en")).startswith("other")
    assert corpus.fingerprint == fingerprint_with(config)


def test_failed_preparation_explains_the_problem_and_leaves_no_files(tmp_path: Path) -> None:
    def complaint(*sources: SourceConfig, test_sets: Sequence[SourceConfig] = ()) -> str:
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
def test_a_full_disk_is_reported_and_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(tmp_path, small(tmp_path))

    def on_a_full_disk(*arguments: Any) -> list[Candidates]:
        _, _, rules, folder, shelf, _ = arguments
        (folder / "0").mkdir()
        (folder / "0" / "raw.fa").symlink_to("/dev/full")
        return collect_candidates(config, (), rules, folder, shelf, 1)

    monkeypatch.setattr(prepare, "collect_candidates", on_a_full_disk)
    with pytest.raises(StorageError, match="the disk is full; free some space there"):
        prepare_corpus(config)
    assert contents(tmp_path / "prepared") == {}


@pytest.mark.skipif(not DATA.is_dir(), reason="the real corpora are not in ../shared/data")
@pytest.mark.parametrize("method", ["block", "hash"])
def test_no_segment_of_the_real_corpora_is_in_two_splits(tmp_path: Path, method: str) -> None:
    mizan = SourceConfig(name="mizan", path=str(DATA / "mizan.zip"), max_pairs=4000)
    tatoeba = SourceConfig(name="tatoeba", path=str(DATA / "tatoeba.zip"))
    quran = SourceConfig(name="quran", path=str(DATA / "quran.en-fa.zip"), max_pairs=3000)
    settings = {"method": method, "validation": 200, "test": 300, "block_size": 50 if method == "block" else None}
    corpus = prepare_corpus(config_of(tmp_path, mizan, tatoeba, quran, split=settings))
    sides: tuple[Side, Side] = ("en", "fa")
    for side in sides:
        folds: dict[str, set[str]] = {split: set() for split in SPLITS}
        for split in SPLITS:
            for name in corpus.names(split):
                texts = list(corpus.lines(split, name, side))
                assert len(texts) == corpus.count(split, name) > 0
                folds[split].update(fold(text) for text in texts)
        assert not folds["train"] & folds["validation"]
        assert not folds["train"] & folds["test"]
        assert not folds["validation"] & folds["test"]
    assert set(corpus.lines("test", "tatoeba", "en")) <= {pair.source for pair in read_pairs(tatoeba)}
