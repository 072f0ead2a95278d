"""A disk that fails, or a process that dies, at a chosen operation on files: to prove that nothing is ever half there.

with Faults(folder) as counted:                     count, and fail nowhere
    save()
with Faults(folder, at=3, kind="kill"):             die at the third operation inside `folder`
    save()

It knows only Python's and safetensors' ways to write a file, and nothing of the program that writes.
"""

import builtins
import errno
import io
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NoReturn, Self

import safetensors.torch
from safetensors import SafetensorError

Kind = Literal["full", "kill", "sigkill", "sigint", "sigterm"]
"""The disk is full; the process dies, played in this process; the process dies; it is asked to stop and goes on."""
_REQUESTS = {"sigint": signal.SIGINT, "sigterm": signal.SIGTERM}


class Killed(BaseException):
    """Stands for the end of the process: no operation on files works after it, so that nothing is cleaned up."""


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
        self._undo: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Self:
        for name in ("mkdir", "rename", "replace", "unlink", "remove", "rmdir", "fsync", "symlink"):
            self._patch(os, name, self._on_path)
        self._patch(os, "open", self._on_os_open)
        self._patch(io, "open", self._on_open)
        self._patch(builtins, "open", self._on_open)
        self._patch(safetensors.torch, "serialize_file", self._on_serialize_file)
        return self

    def __exit__(self, *_: object) -> None:
        while self._undo:
            setattr(*self._undo.pop())

    @property
    def struck(self) -> bool:
        """Whether the operation that fails has been reached."""
        return 0 < self._at <= len(self.operations)

    def _patch(self, owner: Any, name: str, wrap: Callable[[str, Any], Any]) -> None:
        original = getattr(owner, name)
        self._undo.append((owner, name, original))
        setattr(owner, name, wrap(name, original))

    def _inside(self, path: Any, folder_handle: int | None = None) -> str | None:
        """Return the whole path of a file or an open handle if it is in our folder; None if it is not."""
        if isinstance(path, int):
            real_path = str(Path(f"/proc/self/fd/{path}").readlink())
        else:
            name = Path(os.fsdecode(path))
            if folder_handle is not None:
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

    def _on_path(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        place = 1 if name == "symlink" else 0  # its first argument is what the link leads to

        def call(*arguments: Any, **options: Any) -> Any:
            self._step(name, self._inside(arguments[place], options.get("dir_fd")))
            return original(*arguments, **options)

        return call

    def _on_os_open(self, name: str, original: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
            if flags & os.O_CREAT:
                self._step("create", self._inside(path, options.get("dir_fd")))
            return original(path, flags, *arguments, **options)

        return call

    def _on_open(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            path = self._inside(file) if set(mode) & set("wax+") else None
            if path is None:
                return original(file, mode, *arguments, **options)
            if not isinstance(file, int) and "r" not in mode:
                self._step("create", path)
            handle = original(file, mode, *arguments, **options)
            handle.write = self._counted_write(path, handle, handle.write)
            return handle

        return call

    def _counted_write(self, path: str, handle: Any, original: Callable[[Any], int]) -> Callable[[Any], int]:
        def write(content: Any) -> int:
            if self._due("write", path):
                original(content[: len(content) // 2])
                handle.flush()
                self._fail()
            return original(content)

        return write

    def _on_serialize_file(self, name: str, original: Callable[..., None]) -> Callable[..., None]:
        def save(tensors: Any, filename: Path | str, *arguments: Any, **options: Any) -> None:
            path = self._inside(filename)
            if path is None:
                original(tensors, filename, *arguments, **options)
                return
            self._step("create", path)
            due = self._due("write", path)
            original(tensors, filename, *arguments, **options)
            if due:
                os.truncate(filename, Path(filename).stat().st_size // 2)
                try:
                    self._fail()
                except OSError as error:  # as the library tells it
                    raise SafetensorError(
                        f"Error while serializing: {error.strerror} (os error {error.errno})"
                    ) from error

        return save
