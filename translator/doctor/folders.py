"""Where work is written: whether one may, how much room there is, and what the file system can do."""

import fcntl
import shutil
import tempfile
from pathlib import Path
from typing import Final

from translator.doctor.finding import Finding
from translator.errors import StorageError
from translator.storage import storage_errors

_GIB: Final = 1 << 30
_LITTLE: Final = 2 * _GIB
"""Bytes; a run of Transformer-base keeps several checkpoints of some hundred megabytes each."""
_TOO_LITTLE: Final = 128 << 20
"""Bytes; prepared data and run of the sample take less than this."""


def examine_folders(folder: Path) -> list[Finding]:
    """Return what is found of the places that work in `folder` writes to."""
    places = {"this folder": folder, "runs/": folder / "runs", "data/": folder / "data"}
    findings = [examine_place(name, place) for name, place in places.items()]
    try:
        return [*findings, examine_place("temporary files", Path(tempfile.gettempdir()))]
    except FileNotFoundError:
        advice = "several processes hand each other files; name a folder that may be written: export TMPDIR=FOLDER"
        return [*findings, Finding("temporary files", "no folder for them", "wrong", advice)]


def examine_place(name: str, place: Path) -> Finding:
    """Return whether `place`, or the folder that it would be made in, can be written, and holds what a run is made of.

    Args:
        name: what to call it.
        place: a folder that is there or not.
    """
    there = next((path for path in (place, *place.absolute().parents) if path.exists()), Path("/"))
    shown = str(there) if there == place else f"{place} (to be made in {there})"
    try:
        lacks = _try(there)
        free = shutil.disk_usage(there).free
    except StorageError as error:
        return Finding(name, shown, "wrong", str(error))
    found = f"{shown}: {free / _GIB:,.1f} GiB free"
    if free < _TOO_LITTLE:
        return Finding(name, found, "wrong", "free some space there, or work on another disk")
    if "links" in lacks:
        advice = "a run names its best checkpoint by a symbolic link, and this file system has none; work on another"
        return Finding(name, found, "wrong", advice)
    if "locks" in lacks:
        advice = "this file system has no locks; see to it yourself that no two processes train into one run"
        return Finding(name, found, "note", advice)
    if free < _LITTLE:
        return Finding(name, found, "note", "enough for the sample; checkpoints of larger models want more")
    return Finding(name, found)


def _try(folder: Path) -> set[str]:
    """Write a file into a folder of `folder`, and return what the file system lacks: `links`, `locks`.

    Raises:
        StorageError: nothing can be written there.
    """
    lacks = set()
    with storage_errors(folder), tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as inside:
        file = Path(inside) / "file"
        file.write_bytes(b"written")
        try:
            file.with_name("link").symlink_to(file.name)
        except OSError:
            lacks.add("links")
        with file.open("rb") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lacks.add("locks")
    return lacks
