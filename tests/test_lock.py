"""One process at a time in a run folder: who is refused, what it is told, and that the dead do not hold on."""

import errno
import fcntl
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from translator import lock
from translator.errors import RunError, StorageError
from translator.lock import LOCK_FILE, Owner, exclusive, folder_holder, hold_folder, left_behind

HOLDER = """
import fcntl, sys, time
from pathlib import Path
from translator.lock import hold_folder

def refuse(*arguments):
    raise OSError(37, "No locks available")

if sys.argv[2] == "without locks":
    fcntl.flock = refuse
with hold_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path, locks: str = "with locks") -> subprocess.Popen[bytes]:
    """Start a process that holds `folder` until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), locks], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


@pytest.fixture(params=["with locks", "without locks"])
def locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the file system has locks, for this process too."""
    if request.param == "without locks":
        monkeypatch.setattr(fcntl, "flock", no_locks)
    return str(request.param)


def no_locks(handle: int, kind: int) -> None:
    raise OSError(errno.ENOLCK, "No locks available")


def test_a_second_process_is_told_who_is_first(tmp_path: Path, locks: str) -> None:
    first = holder(tmp_path, locks)
    with pytest.raises(RunError) as caught, hold_folder(tmp_path):
        pytest.fail("two processes hold one folder")
    since = json.loads((tmp_path / LOCK_FILE).read_text())["since"]
    assert str(caught.value) == (
        f"another process is at work in {tmp_path} (process {first.pid} on {socket.gethostname()}, since {since}); "
        f"wait for it, stop it (`kill {first.pid}`), or set run.directory"
    )
    known = folder_holder(tmp_path)
    assert known is not None
    assert known.pid == first.pid
    first.communicate()
    assert folder_holder(tmp_path) is None
    assert list(tmp_path.iterdir()) == [], "who leaves in order leaves nothing behind"


def test_a_killed_owner_holds_nothing(tmp_path: Path, locks: str) -> None:
    first = holder(tmp_path, locks)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    dead = left_behind(tmp_path)
    assert dead is not None
    assert dead.pid == first.pid
    with hold_folder(tmp_path) as owner:
        assert owner.pid == os.getpid()
        assert folder_holder(tmp_path) == owner
    assert left_behind(tmp_path) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}'])
def test_a_lock_file_that_says_nothing_does_no_harm(tmp_path: Path, locks: str, content: str) -> None:
    (tmp_path / LOCK_FILE).write_text(content)
    assert folder_holder(tmp_path) is None
    assert left_behind(tmp_path) is None
    with hold_folder(tmp_path) as owner:
        assert json.loads((tmp_path / LOCK_FILE).read_text()) == asdict(owner)


def test_a_process_number_that_is_used_again_is_another_process(tmp_path: Path, locks: str) -> None:
    reused = Owner(os.getpid(), socket.gethostname(), "2020-01-01T00:00:00+00:00", started="12")
    (tmp_path / LOCK_FILE).write_text(json.dumps(asdict(reused)))
    with hold_folder(tmp_path):
        holder = folder_holder(tmp_path)
    assert holder is not None and holder.pid == os.getpid() and holder.started != "12"


def test_without_locks_another_host_must_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", no_locks)
    away = Owner(77, "elsewhere", "2026-01-01T00:00:00+00:00")
    (tmp_path / LOCK_FILE).write_text(json.dumps(asdict(away)))
    with pytest.raises(RunError) as caught, hold_folder(tmp_path):
        pytest.fail("nobody can know that it is free")
    message = str(caught.value)
    assert "in use by process 77 on elsewhere, since 2026-01-01" in message
    assert f"look on elsewhere (`ps -p 77`), and if that process is gone, delete {tmp_path / LOCK_FILE}" in message
    assert folder_holder(tmp_path) == away


def test_what_another_host_left_is_told_where_there_are_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logging.getLogger("translator"), "propagate", True)
    (tmp_path / LOCK_FILE).write_text(json.dumps(asdict(Owner(77, "elsewhere", "2026-01-01T00:00:00+00:00"))))
    with hold_folder(tmp_path):
        assert "was last held by process 77 on elsewhere" in caplog.text
        assert "not every network file system" in caplog.text


def test_a_holder_that_leaves_while_we_knock_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file is taken away between our opening it and our lock on it."""
    taken: list[bool] = []

    def flock(handle: int, kind: int) -> None:
        real(handle, kind)
        if not taken:
            (tmp_path / LOCK_FILE).unlink()
            taken.append(True)

    real = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", flock)
    with hold_folder(tmp_path) as owner:
        assert folder_holder(tmp_path) == owner, "the lock is on the file that all see"


def test_one_process_does_not_hold_twice(tmp_path: Path, locks: str) -> None:
    with hold_folder(tmp_path), pytest.raises(RunError, match="another process is at work in"), hold_folder(tmp_path):
        pytest.fail("held twice")


def test_another_owner_s_record_is_not_taken_away(tmp_path: Path) -> None:
    with hold_folder(tmp_path) as owner:
        other = replace(owner, pid=owner.pid + 1)
        (tmp_path / LOCK_FILE).write_text(json.dumps(asdict(other)))
    assert (tmp_path / LOCK_FILE).exists()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot write .*\.lock"), hold_folder(tmp_path / "nowhere"):
        pytest.fail("held nothing")


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    with exclusive(tmp_path) as first:
        assert first
        with exclusive(tmp_path) as second:
            assert not second
    with exclusive(tmp_path) as again:
        assert again
    with pytest.raises(StorageError, match="cannot open"), exclusive(tmp_path / "nowhere"):
        pass


def test_without_locks_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", no_locks)
    with exclusive(tmp_path) as first, exclusive(tmp_path) as second:
        assert first and second


def test_a_look_at_the_lock_does_not_keep_others_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / LOCK_FILE).touch()
    looking = os.open(tmp_path / LOCK_FILE, os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)

    def stop_looking(seconds: float) -> None:
        fcntl.flock(looking, fcntl.LOCK_UN)

    monkeypatch.setattr(lock.time, "sleep", stop_looking)  # type: ignore[attr-defined]
    with hold_folder(tmp_path):
        holder = folder_holder(tmp_path)
    assert holder is not None and holder.pid == os.getpid() and holder.started != "12"
    os.close(looking)
