"""A file that this program did not make is never replaced; what it made is recognised by its content."""

from pathlib import Path

import pytest

from translator.errors import InputError
from translator.run.files import write_text
from translator.run.made_files import MadeFiles, filled_folder


def make(folder: Path, text: str, made_from: str = "a") -> None:
    with MadeFiles(folder).writing(folder / "file", made_from):
        write_text(folder / "file", text)


def test_a_made_file_is_current_until_it_or_its_origin_changes(tmp_path: Path) -> None:
    make(tmp_path, "text")
    assert MadeFiles(tmp_path).is_current(tmp_path / "file", "a")
    assert not MadeFiles(tmp_path).is_current(tmp_path / "file", "b")
    (tmp_path / "file").write_text("changed", encoding="utf-8")
    assert not MadeFiles(tmp_path).is_current(tmp_path / "file", "a")


def test_a_made_file_may_be_replaced_or_deleted(tmp_path: Path) -> None:
    make(tmp_path, "text")
    make(tmp_path, "other")
    (tmp_path / "file").unlink()
    make(tmp_path, "again")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "again"


@pytest.mark.parametrize("kind", ["file", "link", "broken link", "folder"])
def test_a_file_of_the_user_is_never_replaced(tmp_path: Path, kind: str) -> None:
    path, elsewhere = tmp_path / "file", tmp_path / "elsewhere"
    elsewhere.write_text("precious", encoding="utf-8")
    if kind == "file":
        path.write_text("precious", encoding="utf-8")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("elsewhere" if kind == "link" else "nowhere")
    before = path.lstat()
    with pytest.raises(InputError, match=r"file was not made by this command, or has been changed since"):
        make(tmp_path, "text")
    after = path.lstat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert elsewhere.read_text(encoding="utf-8") == "precious"


def test_a_made_file_that_the_user_has_changed_is_not_replaced(tmp_path: Path) -> None:
    make(tmp_path, "text")
    (tmp_path / "file").write_text("edited", encoding="utf-8")
    with pytest.raises(InputError, match="move it away, or give another --output"):
        make(tmp_path, "other")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "edited"


def test_a_file_whose_writing_was_cut_short_is_ours(tmp_path: Path) -> None:
    with pytest.raises(KeyError), MadeFiles(tmp_path).writing(tmp_path / "file", "a"):
        write_text(tmp_path / "file", "whole, but not yet noted")
        raise KeyError
    assert not MadeFiles(tmp_path).is_current(tmp_path / "file", "a")
    make(tmp_path, "again")


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"file": 1}'])
def test_without_a_record_every_file_is_the_users(tmp_path: Path, damage: str) -> None:
    make(tmp_path, "text")
    (tmp_path / ".translator-made.json").write_text(damage, encoding="utf-8")
    with pytest.raises(InputError, match="was not made by this command"):
        make(tmp_path, "text")


def test_a_refused_verb_leaves_nothing_in_the_folder_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious", encoding="utf-8")
    verb = filled_folder(tmp_path, [], [tmp_path / "file"])
    with pytest.raises(InputError, match="was not made by this command"), verb:
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
