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
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO

from translator.errors import InputError, RunError, StorageError

LOCK_FILE: Final = ".lock"
_WORK_NAME: Final = re.compile(r"\.(?P<name>.+)\.(?P<digits>[0-9a-f]{8})-[0-9a-f]{8}\.partial", re.DOTALL)
_NEW: Final = "new"  # what a work folder holds: the new content, and the replaced old folder
_OLD: Final = "old"
_TURN: Final = 60.0  # seconds to wait for another process that renames a folder in the same place
_EXPLANATIONS: Final = {
    errno.ENOSPC: "the disk is full; free some space there and run the same command again",
    errno.EDQUOT: "the disk quota is exceeded; free some space there and run the same command again",
    errno.EACCES: "permission denied; choose a folder that you may use, or change its permissions",
    errno.EROFS: "the file system is read-only; choose a folder on a writable one",
    errno.ENOTDIR: "a part of this path is a file, not a folder; choose another path",
    errno.EISDIR: "this is a folder, and a file was expected; choose another path",
    errno.ENOTEMPTY: "the folder is not empty; choose another path, or delete the folder first",
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
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path` atomically if the block succeeds, and is deleted otherwise.

    It has the mode of the old file; a new one obeys the umask. A kill leaves a hidden `.NAME.<8 digits>.tmp` behind.
    """
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    beside = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}.tmp")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # the system takes away the umask
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    _flush_folder(path.parent)


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` by `content` atomically: a reader sees either the old or the new bytes."""
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as stream:
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


def refuse_input_as_output(inputs: Iterable[Path | str], output: Path | str) -> None:
    """Raise InputError if `output`, a file or an open descriptor, is one of the files `inputs`, also through links."""
    place = resolve_output(output)
    for path in map(Path, inputs):
        with storage_errors(path, "read"):
            if isinstance(place, int):
                is_input = path.exists() and os.path.samestat(os.fstat(place), path.stat())
            else:
                is_input = path.resolve() == place or (path.exists() and place.exists() and path.samefile(place))
        if is_input:
            raise InputError(f"the output {output} is the input itself; give another output")


@contextlib.contextmanager
def output_stream(path: Path | str) -> Iterator[TextIO]:
    """Yield a UTF-8 stream to `path`: a file is replaced if the block succeeds, a descriptor is appended to."""
    place = resolve_output(path)
    with storage_errors(path), contextlib.ExitStack() as stack:
        if isinstance(place, Path):
            binary = stack.enter_context(replacing(place))
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
def work_folder(path: Path, *, alone: bool = False) -> Iterator[Path]:
    """Yield a hidden folder beside `path` for work on `path`; it is locked by this process and deleted at the end.

    Its name, `.NAME.<random digits>-<checksum>.partial`, is its mark: only this program makes one whose checksum is
    right. So the next process that works on `path` recognises what a killed process left, and restores or deletes it.
    All else stays.

    Raises:
        RunError: with `alone`, another process has a work folder for the same path.
        StorageError: the folder cannot be made, or the old content of `path` cannot be put back.
    """
    with storage_errors(path), contextlib.ExitStack() as stack:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _turn(path.parent):
            abandoned = _restore(path.parent, path.name, stack)
            if alone and set(_work_folders(path.parent, path.name)) - set(abandoned):
                raise RunError(f"another process is writing {path}; wait for it, or choose another path")
            work = path.parent / _work_name(path.name, secrets.token_hex(4))
            work.mkdir()
            stack.enter_context(exclusive(work))
        for folder in abandoned:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            yield work
        finally:
            with _turn(path.parent):
                is_done = _put_back(work, path)
            if is_done:
                shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def new_folder(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """Yield an empty folder beside `path` that becomes `path` if the block succeeds, and is deleted otherwise.

    An existing folder at `path` is replaced, and a link to one stays. Without `replace`, one that is not empty stays,
    and a StorageError says so; only one process at a time may then write `path` (RunError).
    """
    with storage_errors(path):
        path = path.resolve() if path.is_symlink() else path
        _refuse_file(path)
        with work_folder(path, alone=not replace) as work:
            new = work / _NEW
            new.mkdir()
            yield new

            # 1. Everything must be on the disk before it gets its name.
            for file in new.rglob("*"):
                if file.is_file() and not file.is_symlink():
                    flush_file(file)
            _flush_folder(new)

            # 2. Swap. After a kill or an error between the two renames, the old folder is put back from `work`.
            with _turn(path.parent):
                _refuse_file(path)
                if replace and path.exists():
                    shutil.copymode(path, new)
                    path.rename(work / _OLD)
                new.rename(path)
            _flush_folder(path.parent)


def restore_folders(parent: Path) -> None:
    """Finish the work folders in `parent` whose processes were killed.

    A folder whose replacement was cut short is put back; all else in a work folder is deleted. Only folders that this
    program has marked count.
    """
    if not parent.is_dir():
        return
    with storage_errors(parent), contextlib.ExitStack() as stack:
        with _turn(parent):
            abandoned = _restore(parent, None, stack)
        for work in abandoned:
            shutil.rmtree(work, ignore_errors=True)


def replace_link(link: Path, target: str) -> None:
    """Point `link` at `target`, relative to its folder, in one step; move a folder in its place to a hidden name."""
    with storage_errors(link), work_folder(link) as work:
        new = work / _NEW
        new.symlink_to(target)
        if link.is_dir() and not link.is_symlink():
            link.rename(tempfile.mkdtemp(dir=link.parent, prefix=f".{link.name}.copied."))
        new.replace(link)
        _flush_folder(link.parent)


def _refuse_file(path: Path) -> None:
    if os.path.lexists(path) and not path.is_dir():
        raise _os_error(errno.EEXIST)


def _work_name(name: str, digits: str) -> str:
    """Return the name of a work folder for the target `name`."""
    checksum = hashlib.sha256(f"translator {digits} ".encode() + os.fsencode(name)).hexdigest()
    return f".{name}.{digits}-{checksum[:8]}.partial"


def _work_folders(parent: Path, name: str | None) -> dict[Path, Path]:
    """Return the work folders in `parent`, all or those for the target `name`, each with its target."""
    folders: dict[Path, Path] = {}
    for entry in sorted(parent.iterdir()):
        parts = _WORK_NAME.fullmatch(entry.name)
        if parts is None or entry.name != _work_name(parts["name"], parts["digits"]):
            continue
        if name in (None, parts["name"]) and entry.is_dir() and not entry.is_symlink():
            folders[entry] = parent / parts["name"]
    return folders


def _restore(parent: Path, name: str | None, locks: contextlib.ExitStack) -> list[Path]:
    """Lock the work folders of killed processes, put back what they replaced, and return those to delete.

    The caller has its turn in `parent`, so that no other process makes or swaps a folder meanwhile.
    """
    finished = []
    for work, target in _work_folders(parent, name).items():
        try:
            is_abandoned = locks.enter_context(exclusive(work))
        except StorageError:  # its process has just deleted it
            continue
        if is_abandoned and _put_back(work, target):
            finished.append(work)
    return finished


def _put_back(work: Path, path: Path) -> bool:
    """Give the replaced folder in `work` its name again unless `path` exists; return whether `work` may be deleted."""
    new, old = work / _NEW, work / _OLD
    if not old.is_dir():
        return True
    if not os.path.lexists(path):
        old.rename(path)
        return True
    if new.is_dir():  # another program has made `path` between the two renames
        message = "%s exists, so the folder that it had replaced stays in %s; move one of them away"
        logging.getLogger("translator").warning(message, path, old)
        return False
    old.rename(work / "replaced")  # a folder that is deleted in part must never be put back
    return True


@contextlib.contextmanager
def _turn(parent: Path) -> Iterator[None]:
    """Lock `parent` while names in it are exchanged; raise StorageError if another process keeps the lock."""
    with exclusive(parent, _TURN) as free:
        if not free:
            raise StorageError(f"another process has kept {parent} locked for {_TURN:.0f} seconds; stop it, or wait")
        yield


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
def hold_folder(folder: Path, advice: str = "set run.directory") -> Iterator[None]:
    """Lock a folder by its file `.lock` while the block runs; raise `RunError` if another process holds it.

    Args:
        folder: of a run, or of files that a verb makes; it exists.
        advice: how to choose another folder.
    """
    file = folder / LOCK_FILE
    with storage_errors(file):
        file.touch()
    with exclusive(file, seconds=0.5) as free:  # `is_held` holds the lock briefly
        if not free:
            raise RunError(f"another process uses {folder}; wait for it, stop it, or {advice}")
        yield


def is_held(folder: Path) -> bool:
    """Return whether a process holds a run folder."""
    try:
        with exclusive(folder / LOCK_FILE) as free:
            return not free
    except StorageError:
        return False
