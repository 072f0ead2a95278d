"""Files and folders that appear whole or not at all, the lock of a folder, hashes, and readable system errors.

A new file or folder is written beside its target, under a hidden name that nobody else has, flushed to the disk, and
renamed. So a reader sees the old content or the new one, whenever the writing process ends.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from translator.errors import RunError, StorageError

LOCK_FILE: Final = ".lock"
DIGITS_IN_NAME: Final = 16  # of a fingerprint, in the name of a prepared folder
_HIDDEN_FOLDER: Final = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{8}\.(?P<ending>partial|replaced)", re.DOTALL)
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
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    errno.ELOOP: "the symbolic links of this path form a circle; choose another path",
    errno.EBADF: "this process has no such stream open for writing; choose another path",
}


def explain_os_error(error: OSError, path: os.PathLike[str] | str, action: str) -> StorageError:
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


@contextlib.contextmanager
def path_errors() -> Iterator[None]:
    """Turn an `OSError` of the block that names a path into a `StorageError`: for a whole command.

    A missing file stays a `FileNotFoundError`. A command has already checked the files that its user names, so another
    file that is missing is a bug.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if not isinstance(error.filename, str | os.PathLike):  # it is about no file, or about a stream by its number
            raise
        raise explain_os_error(error, error.filename, "use") from error
    except RuntimeError as error:
        if not str(error).startswith("Symlink loop"):  # `Path.resolve` before Python 3.13
            raise
        raise StorageError(f"{error}: {_EXPLANATIONS[errno.ELOOP]}") from error


def system_error(number: int) -> OSError:
    """Return the OSError that the system raises for an error number, such as `errno.EISDIR`."""
    return OSError(number, os.strerror(number))


# --- files that appear whole or not at all ---


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path` atomically if the block succeeds, and is deleted otherwise.

    It gets the mode of the old file, or without an old file the mode by the umask. A kill leaves a hidden file beside
    `path`.
    """
    old_mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    new_file = _hidden_name(path, "tmp")
    handle = os.open(new_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # less the umask
    try:
        # 1. Flush the content to the disk before the rename. So after a power cut, `path` has the old content or the
        # whole new one.
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())

        # 2. The new file takes the mode and the name of the old one.
        if old_mode is not None:
            new_file.chmod(old_mode)
        new_file.replace(path)
    except BaseException:  # also a stop signal
        with contextlib.suppress(OSError):
            new_file.unlink()
        raise
    _flush_names(path.parent)


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


def _hidden_name(path: Path, ending: str) -> Path:
    """Return a hidden path beside `path` that nobody else has, such as `.NAME.1f0c9a3e.tmp`."""
    # Beside the target, because a rename is atomic only inside a file system.
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{ending}")


def flush_file(path: Path) -> None:
    """Force a file to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_names(folder: Path) -> None:
    """Make a rename inside `folder` durable, if the file system supports it."""
    with contextlib.suppress(OSError):
        flush_file(folder)


# --- folders and links that appear whole or not at all ---


@contextlib.contextmanager
def work_folder(path: Path) -> Iterator[Path]:
    """Yield a hidden folder beside `path`, for work on `path`; it is deleted at the end.

    It is locked while the block runs: a folder without a lock is one of a killed process (see `restore_folders`).
    """
    work = _hidden_name(path, "partial")
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        work.mkdir()
    try:
        with locked(work):
            yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def new_folder(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """Yield an empty folder beside `path` that becomes `path` if the block succeeds, and is deleted otherwise.

    An existing folder at `path` is replaced; without `replace`, a StorageError is raised if it is not empty. If `path`
    is a link to a folder, the link stays, and that folder is replaced.
    """
    # 1. Refuse what may not be replaced.
    with storage_errors(path):
        path = path.resolve() if path.is_symlink() else path
        if os.path.lexists(path) and not path.is_dir():
            raise system_error(errno.EEXIST)
        if not replace and path.exists() and any(path.iterdir()):
            raise system_error(errno.ENOTEMPTY)
    with storage_errors(path), work_folder(path) as new:
        yield new

        # 2. Everything must be on the disk before it gets its name.
        for file in new.rglob("*"):
            if file.is_file() and not file.is_symlink():
                flush_file(file)
        _flush_names(new)

        # 3. Rename the old folder, and then the new one. After a kill between the two, `restore_folders` renames the
        # old folder back.
        old = _hidden_name(path, "replaced")
        if replace and path.exists():
            shutil.copymode(path, new)
            path.rename(old)
        try:
            new.rename(path)  # fails if another process has filled `path` meanwhile
        except OSError:
            if old.exists():
                old.rename(path)
            raise
        _flush_names(path.parent)
        shutil.rmtree(old, ignore_errors=True)


def replace_link(link: Path, target: str) -> None:
    """Point `link` at `target`, relative to its folder, in one step; a folder named `link` gets a hidden name."""
    with storage_errors(link), work_folder(link) as work:
        new = work / "new"
        new.symlink_to(target)
        # In a copy of a run, a folder may stand in place of the link, perhaps with the only weights: keep it.
        if link.is_dir() and not link.is_symlink():
            link.rename(_hidden_name(link, "copied"))
        new.replace(link)
        _flush_names(link.parent)


def restore_folders(parent: Path) -> None:
    """Finish what killed processes left in `parent`, a folder of this program.

    An old folder that had to make place for a new one gets its name back if the new one is not there. All other hidden
    folders are deleted, except those that a living process holds.
    """
    with storage_errors(parent):
        entries = list(parent.iterdir()) if parent.is_dir() else []
    for entry in entries:
        # 1. Take only folders with a hidden name that this module gives.
        hidden = _HIDDEN_FOLDER.fullmatch(entry.name)
        if hidden is None or entry.is_symlink() or not entry.is_dir():
            continue
        # 2. Take the lock. If a living process holds it, this raises OSError, and the folder stays.
        with contextlib.suppress(OSError):
            handle = os.open(entry, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # 3. An old folder whose place is still empty goes back there.
                target = parent / hidden["name"]
                if hidden["ending"] == "replaced" and not os.path.lexists(target):
                    entry.rename(target)
                else:
                    shutil.rmtree(entry, ignore_errors=True)
            finally:
                os.close(handle)


# --- locks ---


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder itself, without a lock file, while the block runs; wait for another process."""
    with storage_errors(folder):
        handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def hold_folder(folder: Path, advice: str = "set run.directory") -> Iterator[None]:
    """Lock a folder by its file `.lock` while the block runs; raise `RunError` if another process holds it.

    The system releases the lock when the process ends. On a file system without locks every process gets it.

    Args:
        folder: an existing folder of a run, or of files that a verb makes.
        advice: how to choose another folder.
    """
    import filelock  # takes 15 ms, which `--help` does without

    file = folder / LOCK_FILE
    # A folder that cannot be written is an error, found here. So an OSError of the lock means that there are no locks.
    with storage_errors(file):
        file.touch()
    lock = filelock.FileLock(file)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout as error:
        raise RunError(f"another process uses {folder}; wait for it, stop it, or {advice}") from error
    except OSError:  # a file system without locks
        message = "the file system of %s has no locks; make sure that no other process uses it"
        logging.getLogger("translator").warning(message, folder)
    try:
        yield
    finally:
        lock.release()  # does nothing if the lock was not taken


# --- prepared data ---


def prepared_folder(prepared_directory: Path | str, kind: str, fingerprint: str) -> Path:
    """Return `<prepared_directory>/<kind>-<16 digits>`, the folder of prepared data with this fingerprint."""
    return Path(prepared_directory) / f"{kind}-{fingerprint[:DIGITS_IN_NAME]}"


def damaged(what: str, reason: str, folder: Path) -> StorageError:
    """Return the error for a damaged file `what` inside the prepared `folder`."""
    advice = f"delete the folder {folder} and run the same command again, which rebuilds it"
    return StorageError(f"{what} is damaged ({reason}); {advice}")


# --- hashes ---


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; raise OSError if it cannot be read."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_of_json(value: Any) -> str:
    """Return the SHA-256 of JSON values in hexadecimal; the order of keys has no effect."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
