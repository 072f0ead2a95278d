"""Nothing on disk is ever half-written, and one process at a time works in a run folder."""

import errno
import fcntl
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from translator.errors import RunError, StorageError
from translator.run.locks import exclusive, hold_folder, is_held
from translator.run.storage import write_json, write_text
from translator.run.work_folders import new_folder, replace_link


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


def test_a_failed_replacement_keeps_the_old_folder(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    with new_folder(target) as beside:
        (beside / "a").write_text("old")
    with pytest.raises(KeyError), new_folder(target) as beside:
        (beside / "a").write_text("new")
        raise KeyError
    assert (target / "a").read_text() == "old"
    with new_folder(target) as beside:
        (beside / "b").write_text("new")
    assert [entry.name for entry in target.iterdir()] == ["b"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_two_processes_can_create_the_same_folder_at_once(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from translator.run.work_folders import new_folder\n"
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
    assert (tmp_path / "folder" / "a").read_text() in ("first", "second")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]
    first.stdout.close()


HOLDER = """
import sys
from pathlib import Path
from translator.run.locks import hold_folder
with hold_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_run_is_locked_by_one_process_until_that_process_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    first = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert first.stdout is not None
    assert first.stdout.readline() == b"held\n"
    assert is_held(tmp_path)
    message = "another process uses .*; wait for it, stop it, or set run.directory"
    with pytest.raises(RunError, match=message), hold_folder(tmp_path):
        pytest.fail("two processes hold one folder")
    first.kill()
    first.communicate()
    assert not is_held(tmp_path)
    with hold_folder(tmp_path), pytest.raises(RunError, match="another process uses"), hold_folder(tmp_path):
        pytest.fail("held twice")


def test_missing_locks_warn_and_copied_links_are_moved_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_locks(handle: int, kind: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(logging.getLogger("translator"), "propagate", True)
    monkeypatch.setattr(fcntl, "flock", no_locks)
    with exclusive(tmp_path) as first, exclusive(tmp_path) as second, hold_folder(tmp_path):
        assert first and second
        assert "has no locks; make sure that no other process uses it" in caplog.text
    (tmp_path / "best").mkdir()  # as after copying the run with a tool that follows links
    (tmp_path / "best" / "file").write_text("kept", encoding="utf-8")
    replace_link(tmp_path / "best", "one")
    assert (tmp_path / "best").is_symlink()
    [aside] = tmp_path.glob(".best.copied.*")
    assert (aside / "file").read_text(encoding="utf-8") == "kept"


def test_a_folder_replaces_neither_a_link_nor_a_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with new_folder(tmp_path / "link") as beside:
        (beside / "a").write_text("1")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "a").read_text() == "1"
    (tmp_path / "file").write_text("kept")
    with pytest.raises(StorageError, match="a file of this name exists"), new_folder(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_text() == "kept"
