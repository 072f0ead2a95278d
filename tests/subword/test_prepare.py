"""Preparing subword models: once for the same text and settings, alike in one process and in two, all or nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from subword.sentences import ENGLISH, PERSIAN, make_corpus, unigram, vocabulary

from translator.config import CorpusConfig, SourceConfig
from translator.corpus.prepare import PreparedCorpus, prepare_corpus
from translator.errors import StorageError, SubwordError
from translator.subword import SubwordPair, prepare, prepare_subword
from translator.workers import map_in_order


def test_separate_models_are_trained_once_and_found_again(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path)
    pair, folder = prepare_subword(unigram(), corpus, tmp_path / "prepared")
    assert folder.parent == tmp_path / "prepared" and folder.name.startswith("subword-")
    assert sorted(pair.sha256) == ["source.model", "target.model"] and not pair.joint
    stamp = (folder / "source.model").stat().st_mtime_ns
    again, same_folder = prepare_subword(unigram(), corpus, tmp_path / "prepared")
    assert same_folder == folder and again.sha256 == pair.sha256
    assert (folder / "source.model").stat().st_mtime_ns == stamp
    assert pair.source.decode_ids(pair.source.encode(ENGLISH)) == ENGLISH
    assert pair.target.decode_ids(pair.target.encode(PERSIAN)) == PERSIAN
    other, other_folder = prepare_subword(unigram(vocabulary_size=61), corpus, tmp_path / "prepared")
    assert other_folder != folder and other.source.vocabulary_size == 61


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"sampling": 0.1}, True),
        ({"byte_fallback": False}, True),  # which is what `null` means for so few pieces
        ({"seed": 2}, False),
        ({"max_training_sentences": 100}, False),
        ({"model_type": "bpe"}, False),
        ({"character_coverage": 0.999}, False),
    ],
)
def test_the_folder_is_named_by_what_changes_the_models(tmp_path: Path, changes: dict[str, Any], same: bool) -> None:
    corpus = make_corpus(tmp_path)
    _, folder = prepare_subword(unigram(), corpus, tmp_path / "prepared")
    _, other = prepare_subword(unigram(**changes), corpus, tmp_path / "prepared")
    assert (folder == other) is same


def test_a_joint_model_is_one_object_that_knows_both_languages(tmp_path: Path) -> None:
    pair, folder = prepare_subword(unigram(joint=True, vocabulary_size=120), make_corpus(tmp_path), tmp_path / "p")
    assert pair.source is pair.target and pair.joint
    assert list(pair.sha256) == ["joint.model"] and (folder / "joint.model").exists()
    both = ENGLISH + PERSIAN
    assert pair.source.decode_ids(pair.source.encode(both)) == both
    loaded = SubwordPair.load(folder)
    assert loaded.joint and loaded.sha256 == pair.sha256


@pytest.mark.parametrize("joint", [False, True])
def test_training_text_is_bounded_and_drawn_by_seed(tmp_path: Path, joint: bool) -> None:
    # Each line has a character of its own, so the vocabulary tells which lines were drawn.
    lines = [f"{chr(0x0100 + 2 * number)} a\t{chr(0x0E01)}{chr(0x1200 + number)} b\n" for number in range(60)]
    (tmp_path / "a.tsv").write_text("".join(lines), "utf-8")
    source = SourceConfig(name="a", path=str(tmp_path / "a.tsv"), use="train")
    filters = {"min_source_script": None, "min_target_script": None}
    corpus = prepare_corpus(
        CorpusConfig.model_validate(
            {"sources": [source], "prepared_directory": str(tmp_path / "prepared"), "filters": filters}
        )
    )

    def drawn(seed: int) -> tuple[set[str], set[str]]:
        config = unigram(model_type="char", max_training_sentences=10, seed=seed, joint=joint, vocabulary_size=200)
        pair, _ = prepare_subword(config, corpus, tmp_path / "prepared")
        known = set(vocabulary(pair.source)) | set(vocabulary(pair.target))
        return {x for x in known if "\u0100" <= x < "\u0200"}, {x for x in known if "\u1200" <= x < "\u1300"}

    expected = 5 if joint else 10
    english, persian = drawn(1)
    assert len(english) == len(persian) == expected
    assert drawn(2) != (english, persian)


def test_the_models_do_not_depend_on_the_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make_corpus(tmp_path)
    _, folder = prepare_subword(unigram(), corpus, tmp_path / "one", workers=1)
    monkeypatch.setattr(prepare, "_WORTH_WHILE", 1)
    here = _processes(monkeypatch)
    _, other = prepare_subword(unigram(), corpus, tmp_path / "two", workers=2)
    assert here == [2]
    for file in ("source.model", "target.model", "subword.json"):
        assert (folder / file).read_bytes() == (other / file).read_bytes()


def _processes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that will hold how many processes were asked for."""
    asked: list[int] = []

    def noting(setup: Any, items: Any, processes: int) -> Iterator[Any]:
        asked.append(processes)
        return map_in_order(setup, items, processes)

    monkeypatch.setattr(prepare, "map_in_order", noting)
    return asked


@pytest.mark.parametrize("changes", [{}, {"model_type": "bpe"}, {"joint": True, "vocabulary_size": 120}])
def test_little_work_and_a_single_model_stay_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    if changes:
        monkeypatch.setattr(prepare, "_WORTH_WHILE", 1)
    asked = _processes(monkeypatch)
    prepare_subword(unigram(**changes), make_corpus(tmp_path), tmp_path / "prepared", workers=2)
    assert asked == [1]


def test_a_mistake_in_a_process_of_its_own_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "_WORTH_WHILE", 1)
    corpus = make_corpus(tmp_path)
    with pytest.raises(SubwordError, match="5000 is more than the training text allows for the source model"):
        prepare_subword(unigram(vocabulary_size=5000), corpus, tmp_path / "prepared", workers=2)
    assert not list((tmp_path / "prepared").glob("*subword-*"))


def test_damaged_training_text_is_no_mistake_of_the_trainer(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path)
    (corpus.directory / "train" / "pairs.en").unlink()
    with pytest.raises(StorageError, match=rf"pairs\.en is damaged .*; delete the folder {corpus.directory} and run"):
        prepare_subword(unigram(), corpus, tmp_path / "prepared")
    assert not list((tmp_path / "prepared").glob("*subword-*"))


@pytest.mark.parametrize("side", ["en", "fa"])
def test_an_interruption_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, side: str) -> None:
    corpus = make_corpus(tmp_path)
    lines = PreparedCorpus.lines

    def interrupted(self: PreparedCorpus, split: Any, name: str, this_side: Any) -> Iterator[str]:
        yield from lines(self, split, name, this_side)
        if this_side == side:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(PreparedCorpus, "lines", interrupted)
        prepare_subword(unigram(), corpus, tmp_path / "prepared")
    assert not list((tmp_path / "prepared").glob("*subword-*"))
    pair, _ = prepare_subword(unigram(), corpus, tmp_path / "prepared")
    assert pair.source.vocabulary_size == 60
