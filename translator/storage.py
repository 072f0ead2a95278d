"""Writing to disk so that nothing is ever half there: write beside, flush, rename.

Also the one place where the operating system's complaints (disk full, no permission) become messages for a person.
"""

import contextlib
import errno
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from translator.errors import StorageError

_EXPLANATIONS = {
    errno.ENOSPC: "the disk is full; free some space there and run the same command again",
    errno.EDQUOT: "the disk quota is used up; free some space there and run the same command again",
    errno.EACCES: "permission denied; choose a folder that you may use, or change its permissions",
    errno.EPERM: "the operation is not permitted; choose a folder that you may use, or change its permissions",
    errno.EROFS: "the file system is read-only; choose a folder on a writable one",
    errno.ENOTDIR: "a part of this path is a file, not a folder; choose another path",
    errno.EISDIR: "this is a folder, and a file was expected; choose another path",
    errno.ENAMETOOLONG: "the name is too long for this file system; choose a shorter one",
    errno.EEXIST: "a file of this name is in the way; choose another path, or move the file",
    errno.ENOENT: "it is not there; check the path",
    errno.ELOOP: "the symbolic links of this path run in a circle; choose another path",
    errno.EBUSY: "it is in use; wait, or choose another path",
    errno.EIO: "the disk reported an input/output error; check the disk",
}


def explain_os_error(error: OSError, path: Path | str, action: str) -> StorageError:
    """Return the `StorageError` that tells a person what `error` means for `action` ("write", "read") on `path`."""
    reason = _EXPLANATIONS.get(error.errno or 0, error.strerror or str(error))
    return StorageError(f"cannot {action} {path}: {reason}")


@contextlib.contextmanager
def storage_errors(path: Path | str, action: str = "write") -> Iterator[None]:
    """Turn an `OSError` raised inside into a `StorageError` that names `path` and what to do."""
    try:
        yield
    except OSError as error:
        raise explain_os_error(error, path, action) from error


def _flush_folder(folder: Path) -> None:
    """Make a rename inside `folder` durable; a file system without folder handles is left to its own order."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def flush_file(path: Path) -> None:
    """Force the bytes of `path` to the disk."""
    with path.open("rb+") as handle:
        os.fsync(handle.fileno())


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` by `content` in one step: a reader sees the old bytes or the new ones, never a mixture.

    Raises:
        StorageError: the disk is full or the folder cannot be written.
    """
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        beside_path = Path(name)
        try:
            with os.fdopen(handle, "wb") as beside:
                beside.write(content)
                beside.flush()
                os.fsync(beside.fileno())
            beside_path.chmod(0o644)  # mkstemp gives 0600; others may read a run folder too
            beside_path.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                beside_path.unlink()
            raise
        _flush_folder(path.parent)


def check_writable(path: Path) -> None:
    """Make sure that the file `path` can be written, before the work whose result it is to hold.

    Raises:
        StorageError: it is a folder, or its folder is not there or may not be written.
    """
    with storage_errors(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with storage_errors(path.parent), tempfile.TemporaryFile(dir=path.parent):
        pass


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` in UTF-8, as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by `value` as indented JSON with readable Persian, as `write_bytes` does."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path` that becomes `path` when the block ends well, and vanishes when it does not.

    An existing folder at `path` is replaced. Every file is flushed before the rename, so `path` is whole or not there.
    A replacement takes two renames; `restore_folders` undoes the first if a process is killed between them. Left-overs
    of killed processes are removed by the next call for the same path.

    Raises:
        StorageError: the disk is full or the folder cannot be written.
    """
    beside = path.parent / f".{path.name}.partial"
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        restore_folders(path.parent)
        claim = _claim(beside)
        try:
            yield beside
            for file in sorted(beside.rglob("*")):
                if file.is_file() and not file.is_symlink():
                    flush_file(file)
            _flush_folder(beside)
            if path.exists():
                old = path.parent / f".{path.name}.replaced"
                path.rename(old)
                try:
                    beside.rename(path)
                except OSError:
                    old.rename(path)
                    raise
                shutil.rmtree(old, ignore_errors=True)
            else:
                beside.rename(path)
            _flush_folder(path.parent)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
        finally:
            os.close(claim)


def _claim(folder: Path) -> int:
    """Make `folder` empty and ours, waiting while a living process has it; return the handle that holds the claim."""
    while True:
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
        try:
            handle = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # its owner has just finished
            continue
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if folder.exists() and folder.stat().st_ino == os.fstat(handle).st_ino:
            for entry in folder.iterdir():  # left over from a process that was killed
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            _clear_abandoned(folder)
            return handle
        os.close(handle)


def _clear_abandoned(ours: Path) -> None:
    """Remove the unfinished folders beside `ours` whose processes were killed: nobody may ever ask for them again."""
    for folder in ours.parent.glob(".*.partial"):
        if folder == ours or not folder.is_dir() or folder.is_symlink():
            continue
        with contextlib.suppress(OSError):  # somebody else's, or just gone
            handle = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def restore_folders(parent: Path) -> None:
    """Put back each folder in `parent` that was being replaced when its process was killed, and clear away the rest."""
    for old in sorted(parent.glob(".*.replaced")):
        path = parent / old.name.removeprefix(".").removesuffix(".replaced")
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(path)


def replace_link(link: Path, target: str) -> None:
    """Point the symbolic link `link` at `target` (relative to the link's folder) in one step.

    A folder in its place, which a copy that follows links has made, is set aside under a hidden name.
    """
    with storage_errors(link):
        if link.is_dir() and not link.is_symlink():
            link.rename(tempfile.mkdtemp(dir=link.parent, prefix=f".{link.name}.copied."))
        beside = link.parent / f".{link.name}.partial"
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
        beside.symlink_to(target)
        beside.replace(link)
        _flush_folder(link.parent)
