"""A disk that fails, or a process that dies, at a chosen operation on files: to prove that nothing is ever half there.

with Faults(folder) as counted:                     count, and fail nowhere
    save()
with Faults(folder, at=3, kind="kill"):             die at the third operation inside `folder`
    save()

It knows what Python tells its audit hooks and how Python and safetensors write a file, and nothing of the program.
"""

import builtins
import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NoReturn, Self
from unittest.mock import patch

import safetensors.torch
from safetensors import SafetensorError, serialize

Kind = Literal["full", "kill", "sigkill", "sigint", "sigterm"]
"""The disk is full; the process dies, played in this process; the process dies; it is asked to stop and goes on."""
_REQUESTS = {"sigint": signal.SIGINT, "sigterm": signal.SIGTERM}
_EVENTS = {"os.mkdir": (0, 2), "os.rename": (0, 2), "os.remove": (0, 1), "os.rmdir": (0, 1), "os.symlink": (1, 2)}
"""Events of Python's audit hooks, with the places of the path and of the handle of its folder in their arguments."""
_listening: list["Faults"] = []


@sys.addaudithook  # it stays to the end of the process
def _tell(event: str, arguments: tuple[Any, ...]) -> None:
    for faults in _listening:
        faults.hear(event, arguments)


class Killed(BaseException):
    """Stands for the end of the process: no operation on files works after it, so that nothing is cleaned up."""


def _serialize_file(tensors: Any, file: Path | str, metadata: Any = None) -> None:
    """Write what safetensors writes by itself, where no hook hears it, as a program in Python does."""
    try:
        Path(file).write_bytes(serialize(tensors, metadata))
    except OSError as error:  # as the library tells it
        raise SafetensorError(f"Error while serializing: {error.strerror} (os error {error.errno})") from error


class Faults:
    """Counts what is done to files in `folder`, and makes operation number `at` (from 1; 0: none) fail.

    Counted are: making files, folders and links, each write, each flush to the disk, renaming, and removing. A write
    that fails has written half of its bytes. A full disk fails once, and the cleaning up that follows works.
    """

    def __init__(self, folder: Path | str, at: int = 0, kind: Kind = "kill") -> None:
        self.operations: list[tuple[str, str]] = []  # what was done, and to which path, in order
        self._folder = os.path.realpath(folder)
        self._at = at
        self._kind = kind
        self._dead = False
        self._patches = ExitStack()

    def __enter__(self) -> Self:
        for owner, name, replacement in (
            (os, "fsync", self._on_fsync(os.fsync)),
            (io, "open", self._on_open(open)),
            (builtins, "open", self._on_open(open)),
            (safetensors.torch, "serialize_file", _serialize_file),
        ):
            self._patches.enter_context(patch.object(owner, name, replacement))
        _listening.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _listening.remove(self)
        self._patches.close()

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count what is about to be done to a path, other than a write."""
        if event in _EVENTS:
            path, handle = (arguments[place] for place in _EVENTS[event])
            self._step(event.removeprefix("os."), self._inside(path, handle))
        elif event == "open" and arguments[2] & os.O_CREAT:
            self._step("create", self._inside(arguments[0]))

    @property
    def struck(self) -> bool:
        """Whether the operation that fails has been reached."""
        return 0 < self._at <= len(self.operations)

    def _inside(self, path: Any, folder_handle: int = -1) -> str | None:
        """Return the whole path of a file or an open handle if it is in our folder; None if it is not."""
        if isinstance(path, int):
            real_path = str(Path(f"/proc/self/fd/{path}").readlink())
        else:
            name = Path(os.fsdecode(path))
            if folder_handle >= 0:
                name = Path(f"/proc/self/fd/{folder_handle}").readlink() / name
            real_path = str(Path(os.path.realpath(name.parent)) / name.name)
        return real_path if f"{real_path}/".startswith(f"{self._folder}/") else None

    def _due(self, name: str, path: str) -> bool:
        """Count an operation; return whether it is the one that fails."""
        if self._dead:
            raise Killed
        self.operations.append((name, path))
        if len(self.operations) != self._at:
            return False
        if self._kind in _REQUESTS:
            os.kill(os.getpid(), _REQUESTS[self._kind])
            return False
        return True

    def _fail(self) -> NoReturn:
        if self._kind == "sigkill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._kind == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._dead = True
        raise Killed

    def _step(self, name: str, path: str | None) -> None:
        """Count an operation that fails before it does anything."""
        if path is not None and self._due(name, path):
            self._fail()

    def _on_fsync(self, original: Callable[[int], Any]) -> Callable[[int], Any]:
        def flush(handle: int) -> Any:
            self._step("fsync", self._inside(handle))
            return original(handle)

        return flush

    def _on_open(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            opened = original(file, mode, *arguments, **options)
            path = self._inside(file) if set(mode) & set("wax+") else None
            if path is not None:
                opened.write = self._counted_write(path, opened, opened.write)
            return opened

        return call

    def _counted_write(self, path: str, handle: Any, original: Callable[[Any], int]) -> Callable[[Any], int]:
        def write(content: Any) -> int:
            if self._due("write", path):
                original(content[: len(content) // 2])
                handle.flush()
                self._fail()
            return original(content)

        return write
