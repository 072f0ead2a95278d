"""The models of a prepared corpus are made once for the same text and settings."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.sentences import ENGLISH, PERSIAN, make_corpus, unigram, vocabulary
from tests.support.toy_corpora import write_pairs
from translator.config import CorpusConfig, FilterConfig, SourceConfig, SubwordConfig
from translator.corpus.prepare import prepare_corpus
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.errors import SubwordError
from translator.subword import preparation, prepare_subword, training


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


joint_or_separate = pytest.mark.parametrize("joint", [False, True], ids=["separate", "joint"])


def joint_config(joint: bool) -> SubwordConfig:
    return unigram(joint=joint, vocabulary_size=120 if joint else 60)


@joint_or_separate
def test_a_pair_has_a_model_for_each_side_or_one_for_both(tmp_path: Path, corpus: PreparedCorpus, joint: bool) -> None:
    pair, folder = prepare_subword(joint_config(joint), corpus, tmp_path)
    files = ["joint.model"] if joint else ["source.model", "target.model"]
    assert pair.joint is joint
    assert sorted(pair.sha256) == files
    assert sorted(file.name for file in folder.glob("*.model")) == files


@joint_or_separate
def test_models_are_trained_once_and_then_reused(
    tmp_path: Path, corpus: PreparedCorpus, joint: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair, folder = prepare_subword(joint_config(joint), corpus, tmp_path)
    monkeypatch.setattr(preparation, "training_texts", pytest.fail)
    again, same_folder = prepare_subword(joint_config(joint), corpus, tmp_path)
    assert same_folder == folder
    assert again.sha256 == pair.sha256


@joint_or_separate
def test_the_models_of_a_pair_encode_the_text_of_their_sides(
    tmp_path: Path, corpus: PreparedCorpus, joint: bool
) -> None:
    pair, _ = prepare_subword(joint_config(joint), corpus, tmp_path)
    english = ENGLISH if joint else [text.lower() for text in ENGLISH]  # a joint model keeps case
    assert pair.source.decode_ids(pair.source.encode(english)) == english
    assert pair.target.decode_ids(pair.target.encode(PERSIAN)) == PERSIAN


CASED = "The children of Łódź can read: ÉCOLE, می‌روم."


def test_a_case_folding_model_encodes_all_cases_alike(tmp_path: Path, corpus: PreparedCorpus) -> None:
    pair, _ = prepare_subword(unigram(case="fold"), corpus, tmp_path)
    lower, upper, title = pair.source.encode([CASED.lower(), CASED.upper(), CASED.title()])
    assert lower == upper == title


def test_folder_name_changes_only_with_settings_that_change_the_models(tmp_path: Path, corpus: PreparedCorpus) -> None:
    def folder(**changes: Any) -> Path:
        return prepare_subword(unigram(**changes), corpus, tmp_path)[1]

    # `null` means `byte_fallback: false` with so few pieces, and `case: fold` for separate models.
    assert folder() == folder(sampling=0.1) == folder(byte_fallback=False) == folder(case="fold")

    # All other settings change the models.
    folders = [
        folder(),
        folder(model_type="bpe"),
        folder(vocabulary_size=61),
    ]
    assert len(set(folders)) == len(folders)


@pytest.mark.parametrize("joint", [False, True])
def test_training_text_is_limited_in_size_and_drawn_from_all_sources(
    tmp_path: Path, joint: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "_MOST_SENTENCES", 10)
    # Each line has a character of its own, so the vocabulary tells which lines were drawn.
    pairs = []
    for number in range(60):
        english_character = chr(0x0100 + 2 * number)
        persian_character = chr(0x1200 + number)
        pairs.append((f"{english_character} a", f"{chr(0x0E01)}{persian_character} b"))

    # A corpus of two sources.
    first_path = write_pairs(tmp_path / "a.tsv", pairs[:40])
    second_path = write_pairs(tmp_path / "b.tsv", pairs[40:])
    config = CorpusConfig(
        sources=(
            SourceConfig(name="a", path=str(first_path), use="train"),
            SourceConfig(name="b", path=str(second_path), use="train"),
        ),
        prepared_directory=str(tmp_path / "p"),
        filters=FilterConfig(min_target_script=None),
    )
    corpus = prepare_corpus(config)

    settings = unigram(model_type="char", joint=joint, vocabulary_size=200)
    pair, _ = prepare_subword(settings, corpus, tmp_path / "prepared")
    characters = set(vocabulary(pair.source)) | set(vocabulary(pair.target))
    english = {character for character in characters if "\u0100" <= character < "\u0200"}
    persian = {character for character in characters if "\u1200" <= character < "\u1300"}
    assert len(english) == len(persian) == (5 if joint else 10)
    assert min(persian) < chr(0x1200 + 40) <= max(persian), "lines of both sources"


def contents(folder: Path) -> list[bytes]:
    return [file.read_bytes() for file in sorted(folder.iterdir())]


def test_the_models_do_not_depend_on_the_number_of_processes(tmp_path: Path, corpus: PreparedCorpus) -> None:
    _, folder = prepare_subword(unigram(), corpus, tmp_path / "1", workers=1)
    _, other_folder = prepare_subword(unigram(), corpus, tmp_path / "2", workers=2)
    assert contents(folder) == contents(other_folder)


def test_a_worker_process_reports_an_error_and_leaves_no_folder(tmp_path: Path, corpus: PreparedCorpus) -> None:
    with pytest.raises(SubwordError, match="10 is too small for the source model"):
        prepare_subword(unigram(vocabulary_size=10), corpus, tmp_path, workers=2)
    assert not list(tmp_path.glob("*subword-*"))


def test_a_text_with_too_few_pieces_is_told(
    tmp_path: Path, corpus: PreparedCorpus, caplog: pytest.LogCaptureFixture
) -> None:
    pair, _ = prepare_subword(unigram(vocabulary_size=5000), corpus, tmp_path)
    assert f"the source model has {pair.source.vocabulary_size} pieces, not" in caplog.text
