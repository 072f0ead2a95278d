"""Atomic files (written beside, flushed, renamed), their hashes, and readable system errors."""

import contextlib
import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from translator.errors import StorageError

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

    A missing file stays a `FileNotFoundError`: a command asks for those of its user, and any other is a bug.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if not isinstance(error.filename, str | os.PathLike):
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

    It has the mode of the old file; a new one obeys the umask. A kill leaves a hidden `.NAME.<8 digits>.tmp`.
    """
    old_mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    # Beside the target, because a rename is atomic only inside a file system.
    beside = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}.tmp")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # the system takes away the umask
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            # The content is on the disk before it gets the name: after a power cut, the name has the old or the new
            # content.
            stream.flush()
            os.fsync(stream.fileno())
        if old_mode is not None:
            beside.chmod(old_mode)
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    flush_folder(path.parent)


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


def flush_file(path: Path) -> None:
    """Force a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_folder(folder: Path) -> None:
    """Make a rename inside `folder` durable, if the file system supports it."""
    with contextlib.suppress(OSError):
        flush_file(folder)


# --- hashes ---


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; raise OSError if it cannot be read."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_of_json(value: Any) -> str:
    """Return the SHA-256 of JSON values in hexadecimal; the order of keys has no effect."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
