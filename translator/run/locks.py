"""Locks between processes: on a file or folder for a moment, and on a run folder while a process works in it."""

import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from translator.errors import RunError
from translator.run.storage import storage_errors

LOCK_FILE: Final = ".lock"
_SECONDS_BETWEEN_TRIES: Final = 0.05


@contextlib.contextmanager
def exclusive(path: Path, seconds: float = 0.0) -> Iterator[bool]:
    """Lock the file or folder `path` for the block; yield False if another process still has it after `seconds`.

    The system releases the lock when the process ends. On a file system without locks every process gets it.
    """
    with storage_errors(path, "open"):
        # The lock belongs to this handle: the system frees it with the process, however that ends.
        handle = os.open(path, os.O_RDONLY)
    deadline = time.monotonic() + seconds
    is_free = False
    try:
        # A blocking call could not be given a time limit, so this asks again and again.
        while not is_free:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_free = True
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    break
                time.sleep(_SECONDS_BETWEEN_TRIES)
            except OSError:
                message = "the file system of %s has no locks; make sure that no other process uses it"
                logging.getLogger("translator").warning(message, path)
                is_free = True
        yield is_free
    finally:
        os.close(handle)


@contextlib.contextmanager
def hold_folder(folder: Path, advice: str = "set run.directory") -> Iterator[None]:
    """Lock a folder by its file `.lock` while the block runs; raise `RunError` if another process holds it.

    Args:
        folder: an existing folder of a run, or of files that a verb makes.
        advice: how to choose another folder.
    """
    file = folder / LOCK_FILE
    with storage_errors(file):
        file.touch()
    with exclusive(file) as is_free:
        if not is_free:
            raise RunError(f"another process uses {folder}; wait for it, stop it, or {advice}")
        yield
