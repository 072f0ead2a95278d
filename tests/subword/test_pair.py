"""The folder of the models of both sides: missing, damaged and replaced files are named."""

import shutil
from pathlib import Path

import pytest

from tests.support.sentences import make_corpus, unigram
from translator.errors import StorageError, SubwordError
from translator.subword import SubwordPair, prepare_subword


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of separate models."""
    return prepare_subword(unigram(), make_corpus(tmp_path), tmp_path / "prepared")[1]


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    message = rf"no subword model at .*source\.model; restore it .* or delete the folder {tmp_path}"
    with pytest.raises(SubwordError, match=message):
        SubwordPair.load(tmp_path)


def test_a_folder_in_the_place_of_a_model_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "joint.model").mkdir()
    with pytest.raises(StorageError, match=r"cannot read .*joint\.model: this is a folder"):
        SubwordPair.load(tmp_path)


def test_a_replaced_model_is_refused(folder: Path) -> None:
    shutil.copy(folder / "source.model", folder / "target.model")
    with pytest.raises(SubwordError, match=r"target\.model is not the model that was trained .* prepare again"):
        SubwordPair.load(folder)


@pytest.mark.parametrize("content", ["{}", "[]", "{", '{"sha256": 3}'])
def test_a_damaged_record_is_refused(folder: Path, content: str) -> None:
    (folder / "subword.json").write_text(content, "utf-8")
    with pytest.raises(SubwordError, match=rf"subword\.json is damaged; .* or delete the folder {folder} and"):
        SubwordPair.load(folder)
