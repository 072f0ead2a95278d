"""Atomic files and folders (written beside, flushed, renamed), locks, and readable system errors."""

import contextlib
import errno
import fcntl
import hashlib
import io
import json
import logging
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO

from translator.errors import RunError, StorageError

LOCK_FILE: Final = ".lock"
_TURN: Final = 60.0  # seconds to wait for another process that renames a folder in the same place
_EXPLANATIONS: Final = {
    errno.ENOSPC: "the disk is full; free some space there and run the same command again",
    errno.EDQUOT: "the disk quota is exceeded; free some space there and run the same command again",
    errno.EACCES: "permission denied; choose a folder that you may use, or change its permissions",
    errno.EROFS: "the file system is read-only; choose a folder on a writable one",
    errno.ENOTDIR: "a part of this path is a file, not a folder; choose another path",
    errno.EISDIR: "this is a folder, and a file was expected; choose another path",
    errno.EEXIST: "a file of this name exists; choose another path, or move the file",
    errno.ENOENT: "it does not exist; check the path",
    errno.ELOOP: "the symbolic links of this path form a circle; choose another path",
    errno.EBADF: "this process has no such stream open for writing; choose another path",
}


def explain_os_error(error: OSError, path: Path | str, action: str) -> StorageError:
    """Return a `StorageError` that explains `error` for `action` ("write", "read") on `path`."""
    reason = _EXPLANATIONS.get(error.errno or 0, error.strerror or str(error))
    return StorageError(f"cannot {action} {path}: {reason}")


@contextlib.contextmanager
def storage_errors(path: Path | str, action: str = "write") -> Iterator[None]:
    """Turn an `OSError` of the block into a `StorageError` that names `path`; a broken pipe stays unchanged."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise explain_os_error(error, path, action) from error


def _os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


# --- files ---


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path` atomically if the block succeeds, and is deleted otherwise."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644  # mkstemp gives 0600
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:50]}.")
    try:
        with os.fdopen(handle, "wb") as beside:
            yield beside
            beside.flush()
            os.fsync(beside.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    _flush_folder(path.parent)


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` by `content` atomically: a reader sees either the old or the new bytes."""
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _replacing(path) as stream:
            stream.write(content)


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` in UTF-8, as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by `value` as indented JSON with readable Persian, as `write_bytes` does."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; raise OSError if it cannot be read."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_of_json(value: Any) -> str:
    """Return the SHA-256 of JSON values in hexadecimal; the order of keys has no effect."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def flush_file(path: Path) -> None:
    """Force a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_folder(folder: Path) -> None:
    """Make a rename inside `folder` durable, if the file system supports it."""
    with contextlib.suppress(OSError):
        flush_file(folder)


# --- output paths of the user ---


def resolve_output(path: Path | str) -> Path | int:
    """Return the target of output to `path`: a file, with links resolved, or the number of an open descriptor.

    `/dev/stdout`, `/dev/fd/N`, `/proc/self/fd/N` and links to them are descriptors of this process. Raises
    `StorageError` for a folder, pipe, device or unwritable path; call this before the work.
    """
    place = Path(path)
    descriptor = re.compile(rf"(?:/dev|/proc/{os.getpid()}(?:/task/\d+)?)/fd/(\d+)")
    with storage_errors(path):
        for _ in range(40):
            place = place.parent.resolve() / place.name
            if found := descriptor.fullmatch(str(place)):
                if fcntl.fcntl(int(found[1]), fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                    raise _os_error(errno.EBADF)
                return int(found[1])
            if not place.is_symlink():
                break
            place = place.parent / place.readlink()
        else:
            raise _os_error(errno.ELOOP)
        if place.is_dir():
            raise _os_error(errno.EISDIR)
        if not place.parent.is_dir():
            raise StorageError(f"the folder of the output {path} does not exist; first run: mkdir -p {place.parent}")
        if place.exists() and not place.is_file():
            kind = "a named pipe" if place.is_fifo() else "a device"
            advice = "choose another path, or write to /dev/stdout and redirect standard output there"
            raise StorageError(f"cannot write {path}: it is {kind}, not a file; {advice}")
        if place.exists() and not os.access(place, os.W_OK):
            raise _os_error(errno.EACCES)
        tempfile.TemporaryFile(dir=place.parent).close()
    return place


@contextlib.contextmanager
def output_stream(path: Path | str) -> Iterator[TextIO]:
    """Yield a UTF-8 stream to `path`: a file is replaced if the block succeeds, a descriptor is appended to."""
    place = resolve_output(path)
    with storage_errors(path), contextlib.ExitStack() as stack:
        if isinstance(place, Path):
            binary = stack.enter_context(_replacing(place))
        else:
            for printed in (sys.stdout, sys.stderr):
                printed.flush()
            # A duplicate shares the file position and does not truncate.
            binary = stack.enter_context(os.fdopen(os.dup(place), "wb"))
        stream = io.TextIOWrapper(binary, encoding="utf-8", newline="\n")
        yield stream
        stream.detach()  # flushes


def write_output(path: Path | str, data: str | bytes) -> None:
    """Write `data` to `path`, as `output_stream` does."""
    with output_stream(path) as stream:
        stream.buffer.write(data.encode("utf-8") if isinstance(data, str) else data)


# --- folders ---


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path` that becomes `path` if the block succeeds, and is deleted otherwise.

    An existing folder at `path` is replaced; a link to one stays. Remains of killed processes are removed or restored.
    """
    with storage_errors(path), contextlib.ExitStack() as stack:
        path = path.resolve() if path.is_symlink() else path
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_dir():
            raise _os_error(errno.EEXIST)
        with exclusive(path.parent, _TURN):
            restore_folders(path.parent)
            for other in path.parent.glob(".*.partial"):
                with contextlib.suppress(StorageError), exclusive(other) as abandoned:
                    if abandoned and other.is_dir() and not other.is_symlink():
                        shutil.rmtree(other, ignore_errors=True)
            beside = path.parent / f".{path.name}.{secrets.token_hex(4)}.partial"
            beside.mkdir()
            stack.enter_context(exclusive(beside))
        try:
            yield beside
            for file in beside.rglob("*"):
                if file.is_file() and not file.is_symlink():
                    flush_file(file)
            _flush_folder(beside)
            with exclusive(path.parent, _TURN):
                if path.exists():
                    path.rename(path.parent / f".{path.name}.replaced")
                beside.rename(path)
                restore_folders(path.parent)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            with exclusive(path.parent, _TURN):
                restore_folders(path.parent)
            raise
        _flush_folder(path.parent)


def restore_folders(parent: Path) -> None:
    """Put back each folder in `parent` whose replacement was cut short by a kill, and remove replaced ones."""
    for old in sorted(parent.glob(".*.replaced")):
        path = parent / old.name.removeprefix(".").removesuffix(".replaced")
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(path)


def replace_link(link: Path, target: str) -> None:
    """Point `link` at `target`, relative to its folder, in one step; move a folder in its place to a hidden name."""
    with storage_errors(link):
        if link.is_dir() and not link.is_symlink():
            link.rename(tempfile.mkdtemp(dir=link.parent, prefix=f".{link.name}.copied."))
        beside = link.parent / f".{link.name}.partial"
        beside.unlink(missing_ok=True)
        beside.symlink_to(target)
        beside.replace(link)
        _flush_folder(link.parent)


# --- locks ---


@contextlib.contextmanager
def exclusive(path: Path, seconds: float = 0.0) -> Iterator[bool]:
    """Lock the file or folder `path` for the block; yield False if another process still has it after `seconds`.

    The system releases the lock when the process ends. On a file system without locks every process gets it.
    """
    with storage_errors(path, "open"):
        handle = os.open(path, os.O_RDONLY)
    deadline = time.monotonic() + seconds
    free = False
    try:
        while not free:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                free = True
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    break
                time.sleep(0.05)
            except OSError:
                message = "the file system of %s has no locks; make sure that no other process uses it"
                logging.getLogger("translator").warning(message, path)
                free = True
        yield free
    finally:
        os.close(handle)


@contextlib.contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Lock a run folder by its file `.lock` while the block runs; raise `RunError` if another process holds it."""
    file = folder / LOCK_FILE
    with storage_errors(file):
        file.touch()
    with exclusive(file, seconds=0.5) as free:  # `is_held` holds the lock briefly
        if not free:
            raise RunError(f"another process uses {folder}; wait for it, stop it, or set run.directory")
        yield


def is_held(folder: Path) -> bool:
    """Return whether a process holds a run folder."""
    try:
        with exclusive(folder / LOCK_FILE) as free:
            return not free
    except StorageError:
        return False
