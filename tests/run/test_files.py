"""Files and folders appear whole or not at all, nothing beside them changes, and one process holds a folder."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from translator.errors import RunError, StorageError
from translator.run.files import (
    hold_folder,
    new_folder,
    replace_link,
    restore_folders,
    sha256_of_json,
    work_folder,
    write_json,
    write_text,
)

CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "open", "os.chmod")
Content = dict[str, str | bytes | None]


def content_of(folder: Path) -> Content:
    """Return what lies in a folder, by path: bytes of files, targets of links, None for folders."""
    content: Content = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            content[name] = str(path.readlink())
        else:
            content[name] = path.read_bytes() if path.is_file() else None
    return content


# --- files ---


def test_writing_replaces_a_file_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    write_text(path, "old")
    write_json(path, {"متن": [1, None]})
    assert "متن" in path.read_text(encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == {"متن": [1, None]}
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]


def test_a_new_link_replaces_the_old_one_and_moves_a_folder_aside(tmp_path: Path) -> None:
    (tmp_path / "best").mkdir()  # as after copying the run with a tool that follows links
    (tmp_path / "best" / "file").write_text("kept", encoding="utf-8")
    replace_link(tmp_path / "best", "one")
    replace_link(tmp_path / "best", "two")
    assert (tmp_path / "best").readlink() == Path("two")
    [aside] = tmp_path.glob(".best.*.copied")
    assert (aside / "file").read_text(encoding="utf-8") == "kept"
    assert len(list(tmp_path.iterdir())) == 2


# --- folders ---


def write_new(target: Path) -> None:
    with new_folder(target) as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "a").write_text("new", encoding="utf-8")


NEW: Content = {"exp": None, "exp/deep": None, "exp/deep/a": b"new"}


def kill_at(number: int, work: Callable[[], None]) -> bool:
    """Call `work` in a process of its own, which is killed before its change number `number` to a disk.

    Return whether it was killed; False: its work has fewer changes.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status)
    try:
        changes = 0

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal changes
            if event not in CHANGES:  # os.kill is an event, too
                return
            changes += 1
            if changes == number:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        work()
    finally:
        os._exit(0)


@pytest.mark.parametrize("exists", [False, True])
def test_a_kill_at_any_instant_loses_nothing(tmp_path: Path, exists: bool) -> None:
    number = 0
    was_killed = True
    while was_killed:
        number += 1
        place = tmp_path / str(number)
        place.mkdir()
        (place / "stranger").write_text("mine", encoding="utf-8")
        if exists:
            (place / "exp").mkdir()
            (place / "exp" / "a").write_text("old", encoding="utf-8")
        was_killed = kill_at(number, partial(write_new, place / "exp"))
        restore_folders(place)
        stranger: Content = {"stranger": b"mine"}
        old: Content = {"exp": None, "exp/a": b"old"} if exists else {}
        assert content_of(place) in (NEW | stranger, old | stranger), number
        write_new(place / "exp")
        assert content_of(place) == NEW | stranger
    assert number > 5


def test_only_folders_with_a_name_of_ours_are_unfinished(tmp_path: Path) -> None:
    names = [".exp.partial", ".exp.0123abcd.tmp", ".exp.copied.1", "exp.0123abcd.partial", ".photos"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / ".file.0123abcd.partial").write_text("a file", encoding="utf-8")
    (tmp_path / ".link.0123abcd.partial").symlink_to(tmp_path / names[0])
    before = content_of(tmp_path)
    (tmp_path / ".exp.0123abcd.partial").mkdir()
    restore_folders(tmp_path)
    assert content_of(tmp_path) == before


def test_work_of_a_living_process_stays(tmp_path: Path) -> None:
    with work_folder(tmp_path / "exp") as living:
        write_new(tmp_path / "exp")
        restore_folders(tmp_path)
        assert living.is_dir()
    assert content_of(tmp_path) == NEW


def test_a_failed_second_rename_puts_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "exp"
    write_new(target)
    rename = Path.rename

    def fail(path: Path, to: Path) -> Path:
        if path.name.endswith(".partial"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(StorageError, match="the disk is full"), new_folder(target):
        pass
    assert content_of(tmp_path) == NEW


def test_a_failed_replacement_keeps_the_old_folder(tmp_path: Path) -> None:
    target = tmp_path / "exp"
    write_new(target)
    with pytest.raises(KeyError), new_folder(target) as beside:
        (beside / "a").write_text("half")
        raise KeyError
    assert content_of(tmp_path) == NEW


def test_a_folder_replaces_neither_a_link_nor_a_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write_new(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "deep" / "a").read_text() == "new"
    (tmp_path / "file").write_text("kept")
    with pytest.raises(StorageError, match="a file of this name exists"):
        write_new(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "kept"


# --- permissions ---


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_files_and_folders_obey_the_umask_and_a_replacement_keeps_the_mode(tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    before = os.umask(0o077)
    try:
        write_text(file, "old")
        write_new(folder)
    finally:
        os.umask(before)
    assert (mode_of(file), mode_of(folder), mode_of(folder / "deep" / "a")) == (0o600, 0o700, 0o600)
    file.chmod(0o640)
    folder.chmod(0o750)
    write_text(file, "new")
    write_new(folder)
    assert (mode_of(file), mode_of(folder)) == (0o640, 0o750)


# --- locks ---


HOLDER = """
import sys
from pathlib import Path
from translator.run.files import hold_folder
with hold_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_run_is_locked_by_one_process_until_that_process_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    first = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert first.stdout is not None
    assert first.stdout.readline() == b"held\n"
    message = "another process uses .*; wait for it, stop it, or set run.directory"
    with pytest.raises(RunError, match=message), hold_folder(tmp_path):
        pytest.fail("two processes hold one folder")
    first.kill()
    first.communicate()
    with hold_folder(tmp_path), pytest.raises(RunError, match="another process uses"), hold_folder(tmp_path):
        pytest.fail("held twice")


# --- hashes ---


def test_the_fingerprint_depends_on_values_and_not_on_their_order() -> None:
    # The value is fixed: computing it differently would orphan all data that is already prepared.
    expected = "cd61dace9285d480fd374562e3792427"
    assert sha256_of_json({"b": [1, "کتاب"], "a": 0}).startswith(expected)
    assert sha256_of_json({"a": 0, "b": [1, "کتاب"]}).startswith(expected)
