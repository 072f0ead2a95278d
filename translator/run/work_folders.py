"""Folders that appear whole or not at all: made in a marked work folder beside the target, then renamed.

A work folder holds `new`, the new content, and `old`, the folder that it replaces. A killed process leaves its work
folder. The next process that works on the same target restores or deletes it.
"""

import contextlib
import errno
import hashlib
import logging
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from translator.errors import RunError, StorageError
from translator.run.locks import exclusive
from translator.run.storage import flush_file, flush_folder, storage_errors, system_error

_WORK_NAME: Final = re.compile(r"\.(?P<name>.+)\.(?P<digits>[0-9a-f]{8})-[0-9a-f]{8}\.partial", re.DOTALL)
_NEW: Final = "new"
_OLD: Final = "old"
_TURN: Final = 60.0  # seconds to wait for another process that renames a folder in the same place


@contextlib.contextmanager
def work_folder(path: Path, *, alone: bool = False) -> Iterator[Path]:
    """Yield a hidden folder beside `path` for work on `path`; it is locked by this process and deleted at the end.

    Its name, `.NAME.<random digits>-<checksum>.partial`, is its mark: only this program makes one whose checksum is
    right. So the next process that works on `path` recognises what a killed process left, and restores or deletes it.
    All else stays.

    Args:
        path: the file, folder or link that the caller makes or replaces.
        alone: only one process at a time may work on `path`.

    Raises:
        RunError: with `alone`, another process has a work folder for the same path.
        StorageError: the folder cannot be made, or the old content of `path` cannot be put back.
    """
    with contextlib.ExitStack() as locks:
        # 1. Finish what killed processes left, and make a folder of our own.
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with _turn(path.parent):
                abandoned = _restore_abandoned(path.parent, path.name, locks)
                in_use = set(_work_folders(path.parent, path.name)).difference(abandoned)
                if alone and in_use:
                    raise RunError(f"another process is writing {path}; wait for it, or choose another path")
                work = path.parent / _work_name(path.name, secrets.token_hex(4))
                work.mkdir()
                locks.enter_context(exclusive(work))
        for folder in abandoned:
            shutil.rmtree(folder, ignore_errors=True)

        # 2. Work, then put back what was replaced and not renewed. An error of the work need not be one of `path`.
        try:
            yield work
        finally:
            with storage_errors(path), _turn(path.parent):
                may_delete = _put_back(work, path)
            if may_delete:
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
            flush_folder(new)

            # 2. Swap. After a kill or an error between the two renames, the old folder is put back from `work`.
            with _turn(path.parent):
                _refuse_file(path)
                if replace and path.exists():
                    shutil.copymode(path, new)
                    path.rename(work / _OLD)
                new.rename(path)
            flush_folder(path.parent)


def restore_folders(parent: Path) -> None:
    """Finish the work folders in `parent` whose processes were killed.

    A folder whose replacement was cut short is put back; all else in a work folder is deleted. Only folders that this
    program has marked count.
    """
    if not parent.is_dir():
        return
    with storage_errors(parent), contextlib.ExitStack() as locks:
        with _turn(parent):
            abandoned = _restore_abandoned(parent, None, locks)
        for work in abandoned:
            shutil.rmtree(work, ignore_errors=True)


def replace_link(link: Path, target: str) -> None:
    """Point `link` at `target`, relative to its folder, in one step; a folder named `link` gets a hidden name."""
    with storage_errors(link), work_folder(link) as work:
        new = work / _NEW
        new.symlink_to(target)
        # A run that was copied without its links has folders in their place, perhaps with the only weights.
        if link.is_dir() and not link.is_symlink():
            link.rename(tempfile.mkdtemp(dir=link.parent, prefix=f".{link.name}.copied."))
        new.replace(link)
        flush_folder(link.parent)


def _refuse_file(path: Path) -> None:
    if os.path.lexists(path) and not path.is_dir():
        raise system_error(errno.EEXIST)


def _work_name(name: str, digits: str) -> str:
    """Return the name of a work folder for the target `name`."""
    checksum = hashlib.sha256(f"translator {digits} ".encode() + os.fsencode(name)).hexdigest()
    return f".{name}.{digits}-{checksum[:8]}.partial"


def _work_folders(parent: Path, name: str | None) -> dict[Path, Path]:
    """Return the work folders in `parent`, all or those for the target `name`, each with its target."""
    folders: dict[Path, Path] = {}
    for entry in sorted(parent.iterdir()):
        # Another program could choose a name of this form, but not with the right checksum.
        parts = _WORK_NAME.fullmatch(entry.name)
        if parts is None or entry.name != _work_name(parts["name"], parts["digits"]):
            continue
        if name in (None, parts["name"]) and entry.is_dir() and not entry.is_symlink():
            folders[entry] = parent / parts["name"]
    return folders


def _restore_abandoned(parent: Path, name: str | None, locks: contextlib.ExitStack) -> list[Path]:
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
    with exclusive(parent, _TURN) as is_free:
        if not is_free:
            raise StorageError(f"another process has kept {parent} locked for {_TURN:.0f} seconds; stop it, or wait")
        yield
