"""No file is ever half-written."""

import errno
import json
from pathlib import Path

import pytest

from translator.errors import StorageError
from translator.run.storage import write_json, write_text


def test_writing_replaces_a_file_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    write_text(path, "old")
    write_json(path, {"متن": [1, None]})
    assert "متن" in path.read_text(encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == {"متن": [1, None]}
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.txt"
    write_text(path, "old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match=r"cannot write .*file\.txt: the disk is full; free some space"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]
