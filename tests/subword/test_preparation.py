"""The models of a prepared corpus are made once for the same text and settings."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.sentences import ENGLISH, PERSIAN, make_corpus, unigram
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.subword import preparation, prepare_subword, training
from translator.subword.training import draw_lines


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


CASED = "The children of Łódź can read: ÉCOLE, می‌روم."


@pytest.mark.parametrize(("joint", "case"), [(False, "fold"), (False, "keep"), (True, "keep")])
def test_models_are_trained_once_for_each_side_or_for_both(
    tmp_path: Path, corpus: PreparedCorpus, joint: bool, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = unigram(joint=joint, case=case, vocabulary_size=120 if joint else 60)
    pair, folder = prepare_subword(config, corpus, tmp_path)
    assert pair.joint is joint
    files = ["joint.model"] if joint else ["source.model", "target.model"]
    assert sorted(pair.sha256) == sorted(file.name for file in folder.glob("*.model")) == files

    # They encode the text of their sides; that of a source may fold case.
    english = ENGLISH if case == "keep" else [text.lower() for text in ENGLISH]
    assert pair.source.decode_ids(pair.source.encode(english)) == english
    assert pair.target.decode_ids(pair.target.encode(PERSIAN)) == PERSIAN
    lower, upper, title = pair.source.encode([CASED.lower(), CASED.upper(), CASED.title()])
    assert (lower == upper == title) == (case == "fold")

    # The next time they are found.
    monkeypatch.setattr(preparation, "trainer", pytest.fail)
    again, same_folder = prepare_subword(config, corpus, tmp_path)
    assert (again.sha256, same_folder) == (pair.sha256, folder)


def test_folder_name_changes_only_with_settings_that_change_the_models(tmp_path: Path, corpus: PreparedCorpus) -> None:
    def folder(**changes: Any) -> Path:
        return prepare_subword(unigram(**changes), corpus, tmp_path)[1]

    # `null` means `byte_fallback: false` with so few pieces, and `case: fold` for separate models.
    assert folder() == folder(byte_fallback=False) == folder(case="fold")
    assert len({folder(), folder(model_type="bpe"), folder(vocabulary_size=61)}) == 3


def test_a_text_with_too_few_pieces_is_told(
    tmp_path: Path, corpus: PreparedCorpus, caplog: pytest.LogCaptureFixture
) -> None:
    pair, _ = prepare_subword(unigram(vocabulary_size=5000), corpus, tmp_path)
    assert f"the source model has {pair.source.vocabulary_size} pieces, not" in caplog.text


def test_a_joint_model_is_trained_on_half_as_many_lines_of_each_side(
    corpus: PreparedCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "_MOST_SENTENCES", 6)
    monkeypatch.setattr(training, "train_model", lambda lines, *_, fold: list(lines))
    train: Any = training.trainer(unigram(), corpus)
    half = [*draw_lines(corpus, "train", "en", 3), *draw_lines(corpus, "train", "fa", 3)]
    assert (train("joint"), train("target")) == (half, list(draw_lines(corpus, "train", "fa", 6)))
