"""Nothing on disk is ever half there."""

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from translator.errors import StorageError
from translator.storage import (
    check_writable,
    new_folder,
    replace_link,
    restore_folders,
    storage_errors,
    write_json,
    write_text,
)


class CrashError(Exception):
    """Stands for a process that dies in the middle."""


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    write_text(path, "old")
    write_text(path, "نو")
    assert path.read_text(encoding="utf-8") == "نو"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]


def test_json_keeps_persian_readable(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"متن": [1, None]})
    text = (tmp_path / "x.json").read_text(encoding="utf-8")
    assert "متن" in text
    assert json.loads(text) == {"متن": [1, None]}


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


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "folder"
    with new_folder(target) as beside:
        (beside / "a").write_text("1")
        assert not target.exists()
    assert (target / "a").read_text() == "1"


def test_a_folder_does_not_appear_when_its_making_fails(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    with pytest.raises(CrashError), new_folder(target) as beside:
        (beside / "a").write_text("1")
        raise CrashError
    assert list(tmp_path.iterdir()) == []


def test_a_failed_replacement_keeps_the_old_folder(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    with new_folder(target) as beside:
        (beside / "a").write_text("old")
    with pytest.raises(CrashError), new_folder(target) as beside:
        (beside / "a").write_text("new")
        raise CrashError
    assert (target / "a").read_text() == "old"
    with new_folder(target) as beside:
        (beside / "b").write_text("new")
    assert [entry.name for entry in target.iterdir()] == ["b"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_left_overs_of_a_killed_process_do_no_harm(tmp_path: Path) -> None:
    left_over = tmp_path / ".folder.partial"
    left_over.mkdir()
    (left_over / "rubbish").write_text("x")
    with new_folder(tmp_path / "folder") as beside:
        (beside / "a").write_text("1")
    assert [entry.name for entry in (tmp_path / "folder").iterdir()] == ["a"]
    assert not left_over.exists()


def test_a_kill_between_the_two_renames_loses_nothing(tmp_path: Path) -> None:
    with new_folder(tmp_path / "folder") as beside:
        (beside / "a").write_text("old")
    (tmp_path / "folder").rename(tmp_path / ".folder.replaced")  # as new_folder does, and then the process dies
    restore_folders(tmp_path)
    assert (tmp_path / "folder" / "a").read_text() == "old"
    (tmp_path / ".folder.replaced").mkdir()  # killed after the second rename: only rubbish is left
    restore_folders(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_two_processes_that_make_one_folder_take_turns(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from translator.storage import new_folder\n"
        "with new_folder(Path(sys.argv[1])) as beside:\n"
        "    (beside / 'a').write_text(sys.argv[2]); print('in', flush=True); time.sleep(0.5)\n"
        "    (beside / 'b').write_text('')"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "folder")]
    first = subprocess.Popen([*command, "first"], stdout=subprocess.PIPE)
    assert first.stdout is not None
    assert first.stdout.readline() == b"in\n"
    second = subprocess.run([*command, "second"], check=False, capture_output=True)
    assert (first.wait(), second.returncode, second.stderr) == (0, 0, b"")
    assert sorted(entry.name for entry in (tmp_path / "folder").iterdir()) == ["a", "b"]
    assert (tmp_path / "folder" / "a").read_text() == "second"
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]
    first.stdout.close()


def test_a_link_moves_in_one_step(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        replace_link(tmp_path / "best", name)
        assert (tmp_path / "best").resolve() == (tmp_path / name).resolve()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["best", "one", "two"]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EACCES, "permission denied"),
        (errno.EROFS, "read-only"),
        (errno.ENOTDIR, "a part of this path is a file"),
        (errno.EMFILE, "Too many open files"),
    ],
)
def test_the_systems_complaints_become_advice(number: int, words: str) -> None:
    with pytest.raises(StorageError, match=words), storage_errors("some/file", "read"):
        raise OSError(number, "Too many open files")


def test_what_killed_processes_left_is_cleared_by_whoever_comes_next(tmp_path: Path) -> None:
    """Under other settings nobody would ever ask for the same folder again."""
    abandoned = tmp_path / ".corpus-1.partial"
    abandoned.mkdir()
    (abandoned / "text").write_text("half", encoding="utf-8")
    with new_folder(tmp_path / "living"), new_folder(tmp_path / "other") as beside:
        assert not abandoned.exists()
        assert beside.exists()
        assert (tmp_path / ".living.partial").exists()  # its process is alive
    assert sorted(path.name for path in tmp_path.iterdir()) == ["living", "other"]


def test_a_folder_in_the_place_of_a_link_is_set_aside(tmp_path: Path) -> None:
    """A copy that follows links has made it."""
    (tmp_path / "one").mkdir()
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "file").write_text("kept", encoding="utf-8")
    replace_link(tmp_path / "best", "one")
    assert (tmp_path / "best").resolve() == tmp_path / "one"
    [aside] = tmp_path.glob(".best.copied.*")
    assert (aside / "file").read_text(encoding="utf-8") == "kept"


def test_a_file_that_could_not_be_written_is_known_before(tmp_path: Path) -> None:
    check_writable(tmp_path / "new.json")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("kept")
    check_writable(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "kept"
    with pytest.raises(StorageError, match="this is a folder"):
        check_writable(tmp_path)
    with pytest.raises(StorageError, match="nowhere: it is not there"):
        check_writable(tmp_path / "nowhere" / "new.json")
    with pytest.raises(StorageError, match="not a folder"):
        check_writable(tmp_path / "file" / "new.json")
