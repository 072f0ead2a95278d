"""The folder of the models of both sides: missing files are named."""

from pathlib import Path

import pytest

from translator.errors import StorageError, SubwordError
from translator.subword import SubwordPair


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    message = rf"no subword model at .*source\.model; restore it .* or delete the folder {tmp_path}"
    with pytest.raises(SubwordError, match=message):
        SubwordPair.load(tmp_path)


def test_a_folder_in_the_place_of_a_model_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "joint.model").mkdir()
    with pytest.raises(StorageError, match=r"cannot read .*joint\.model: this is a folder"):
        SubwordPair.load(tmp_path)
