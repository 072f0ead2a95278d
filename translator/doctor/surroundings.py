"""What surrounds a process: its locale, the clock, the home directory."""

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from translator.doctor.finding import Finding

_TOLERANCE: Final = 24 * 3600
"""Seconds that a file may come from the future: clocks are set, and files travel between time zones."""


def examine_surroundings() -> list[Finding]:
    """Return what is found around this process."""
    return [
        text_encoding(sys.getfilesystemencoding()),
        clock(time.time(), Path(__file__).stat().st_mtime),
        home(os.environ.get("HOME")),
    ]


def text_encoding(of_names: str) -> Finding:
    """Return whether file names may be Persian; `of_names` is their encoding."""
    language = next(
        (f"{name}={os.environ[name]}" for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), ""
    )
    found = f"{of_names} ({language or 'no locale is set'})"
    if of_names.lower().replace("_", "-") not in ("utf-8", "utf8"):
        return Finding("text", found, "note", "names of files may be letters of English only; export LC_ALL=C.UTF-8")
    return Finding("text", found)


def clock(now: float, newest: float) -> Finding:
    """Return whether the clock runs after the time of this program's own files, both in seconds since 1970."""
    found = datetime.fromtimestamp(now, UTC).isoformat(sep=" ", timespec="seconds")
    if newest > now + _TOLERANCE:
        written = datetime.fromtimestamp(newest, UTC).date()
        advice = f"files of this program are from {written}; set the clock, or make and TensorBoard mistake old for new"
        return Finding("clock", found, "note", advice)
    return Finding("clock", found)


def home(folder: str | None) -> Finding:
    """Return whether libraries have a place for their caches; `folder` is the home directory, if there is one."""
    if folder is not None and os.access(folder, os.W_OK):
        return Finding("home", folder)
    return Finding(
        "home", folder or "none", "note", "caches of libraries go elsewhere; export HOME=FOLDER to keep them"
    )
