"""Who holds a file or a folder: one process at a time, and a second one is told who the first is.

The system's own lock (flock) decides, for it is given back when a process ends, however it ends. Beside it stands a
record of the owner, for people to read; where the file system has no locks the record decides as far as it can.
"""

import contextlib
import fcntl
import json
import logging
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from translator.errors import RunError
from translator.storage import storage_errors

LOGGER = logging.getLogger("translator")
LOCK_FILE: Final = ".lock"
_TRIES: Final = 5
_PAUSE: Final = 0.05
"""Seconds between two tries: whoever only looks whether a lock is free holds it for an instant."""


@dataclass(frozen=True)
class Owner:
    """The process that holds a folder."""

    pid: int
    host: str
    since: str
    """When it took hold, in UTC (ISO 8601)."""
    started: str = ""
    """When the process began, as its system counts; tells it from a later one with the same number."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"

    @property
    def here(self) -> bool:
        """Whether it is a process of this host."""
        return self.host == socket.gethostname()

    @property
    def alive(self) -> bool:
        """Whether a process of this host is still there."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # there, and another user's
            pass
        return self.started == _started(self.pid)


def _ourselves() -> Owner:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Owner(os.getpid(), socket.gethostname(), now, _started(os.getpid()))


def _started(pid: int) -> str:
    """Return the start of process `pid` in clock ticks since the system's; empty where there is no /proc."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[bool]:
    """Hold the file or folder `path` for this process while the block runs; yields False if another one holds it.

    The system gives the hold back when the process ends, however it ends. What lies on a file system without locks is
    never refused.
    """
    with storage_errors(path, "open"):
        handle = os.open(path, os.O_RDONLY)
    try:
        yield _flock(handle, fcntl.LOCK_EX) is not False
    finally:
        os.close(handle)


def _flock(handle: int, kind: int) -> bool | None:
    """Try to take a lock; return None if the file system has none."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextlib.contextmanager
def hold_folder(folder: Path) -> Iterator[Owner]:
    """Hold a run folder for this process while the block runs, our name in its `.lock`; yields what is written there.

    A process that is killed leaves its record behind, and no hold.

    Raises:
        RunError: another process has it; the message says which, where and since when.
        StorageError: the folder may not be written.
    """
    owner = _ourselves()
    file = folder / LOCK_FILE
    with storage_errors(file):
        handle = _take(folder, file, owner)
    try:
        yield owner
    finally:
        with contextlib.suppress(OSError):
            if _read_owner(file) == owner:
                file.unlink()
        if handle is not None:
            os.close(handle)


def _take(folder: Path, file: Path, owner: Owner) -> int | None:
    """Write `owner` into the lock `file` as its holder; return the open handle, or None where there are no locks."""
    for number in range(1, _TRIES + 1):
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        locked = _flock(handle, fcntl.LOCK_EX)
        if locked and _is_at(handle, file):
            _warn_of_another_host(folder, _read_owner(file))
            _write_owner(handle, owner)
            return handle
        # Nobody else's, just taken away, or no locks at all.
        known = _read_owner(file)
        os.close(handle)
        if locked is None:
            _take_without_locks(folder, file, owner)
            return None
        if locked is False and number == _TRIES:
            raise _refusal(folder, known)
        time.sleep(_PAUSE)
    raise _refusal(folder, None)


def _is_at(handle: int, file: Path) -> bool:
    """Whether `file` is still the one behind `handle`: its last holder takes it away on leaving."""
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False


def _write_owner(handle: int, owner: Owner) -> None:
    """Write in place: beside and renamed, as files are written elsewhere, would not be the file that is locked."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, (json.dumps(asdict(owner)) + "\n").encode(), 0)
    os.fsync(handle)


def _read_owner(file: Path) -> Owner | None:
    """Return what a lock file says; None if it says nothing that can be read."""
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        return Owner(int(said["pid"]), str(said["host"]), str(said["since"]), str(said.get("started", "")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _take_without_locks(folder: Path, file: Path, owner: Owner) -> None:
    """Go by the record: a live process of this host refuses, a dead one is passed over, another host must be asked."""
    known = _read_owner(file)
    if known is not None and not known.here:
        raise RunError(
            f"{folder} is marked as in use by {known}, and its file system has no locks to tell by whether that is "
            f"still so; look on {known.host} (`ps -p {known.pid}`), and if that process is gone, delete {file}"
        )
    if known is not None and known.alive:
        raise _refusal(folder, known)
    file.unlink(missing_ok=True)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:  # somebody was quicker by an instant
        raise _refusal(folder, _read_owner(file)) from None
    with contextlib.closing(os.fdopen(handle, "wb")) as stream:
        _write_owner(stream.fileno(), owner)


def _refusal(folder: Path, owner: Owner | None) -> RunError:
    who = "" if owner is None else f" ({owner})"
    stop = "stop it" if owner is None or not owner.here else f"stop it (`kill {owner.pid}`)"
    return RunError(f"another process is at work in {folder}{who}; wait for it, {stop}, or set run.directory")


def _warn_of_another_host(folder: Path, known: Owner | None) -> None:
    """Say what flock cannot know: some network file systems keep the locks of each host to itself."""
    if known is not None and not known.here:
        LOGGER.warning(
            "%s was last held by %s, which did not leave in order; if that still runs (`ps -p %d` there), stop one of "
            "the two: not every network file system shows the locks of one host to another",
            folder,
            known,
            known.pid,
        )


def folder_holder(folder: Path) -> Owner | None:
    """Return who holds a run folder, as far as this host can tell; None if nobody does."""
    file = folder / LOCK_FILE
    try:
        handle = os.open(file, os.O_RDONLY)
    except OSError:
        return None
    try:
        free = _flock(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)
    owner = _read_owner(file)
    if free is None:
        return owner if owner is not None and (not owner.here or owner.alive) else None
    return None if free else owner or Owner(0, "another host", "")


def left_behind(folder: Path) -> Owner | None:
    """Return whose record a run folder still has though nobody holds it: that process was killed."""
    return _read_owner(folder / LOCK_FILE) if folder_holder(folder) is None else None
