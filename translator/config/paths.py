"""Paths of a user: those in a home folder, those of files shipped with the program, and absolute ones."""

import contextlib
import os
from pathlib import Path

from translator.errors import InputError


def expand_home(path: str) -> str:
    """Return `path` with a home folder in place of `~` or `~NAME` at its beginning.

    Raises InputError: there is no such home folder.
    """
    expanded = os.path.expanduser(path)  # noqa: PTH111 - `Path` would drop a slash at the end
    if expanded.startswith("~"):
        name = path.partition("/")[0]
        raise InputError(f"{path}: `{name}` is no home folder of this machine; write ./{path} for a path of that name")
    return expanded


def expand_homes(paths: str) -> str:
    """Return several paths, separated by colons, with their home folders; see `expand_home`."""
    return ":".join(map(expand_home, paths.split(":")))


def shipped_folder() -> Path:
    """Return the folder that has `configs` and `data/sample`: `shipped` in an installed package, or the checkout."""
    package = Path(__file__).parents[1]
    installed = package / "shipped"
    return installed if installed.is_dir() else package.parent


def with_shipped_sample(path: str) -> Path:
    """Return `path`, or the shipped file if `path` is a missing file of the embedded sample."""
    local = Path(path)
    shipped = shipped_folder() / local
    with contextlib.suppress(OSError):  # path too long: opening it reports the error
        if local.is_relative_to("data/sample") and not local.exists() and shipped.exists():
            return shipped
    return local


def absolute_path(path: str) -> str:
    """Return `path` as an absolute path, with symbolic links unresolved."""
    return os.path.abspath(with_shipped_sample(path))  # noqa: PTH100 - `resolve` follows links
