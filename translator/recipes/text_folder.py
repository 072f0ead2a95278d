"""A folder of text that a command makes from a run, and that a repeated command goes on with.

Its record has the hash of what each translated file was made from. A file is written whole, and then noted. So a file
whose hash is in the record is complete, and one that a kill left without it is made again.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from translator.errors import InputError
from translator.run.files import hold_folder, write_json

_RECORD_FILE: Final = "made-from.json"
_RECORD: Final = TypeAdapter(dict[str, str])


@contextlib.contextmanager
def text_folder(folder: Path, names: Iterable[str]) -> Iterator[None]:
    """Hold a folder while a command fills it.

    Args:
        folder: made if it is missing.
        names: the files that the block writes.

    Raises:
        InputError: the folder has no record, so it is not ours, and it has one of the files.
        RunError: another process fills the folder.
    """
    is_ours = (folder / _RECORD_FILE).exists()
    for name in names:
        if not is_ours and (folder / name).exists():
            raise InputError(
                f"{folder / name} was not made by this command, and would be replaced; move it away, or give another "
                "--output"
            )
    folder.mkdir(parents=True, exist_ok=True)
    with hold_folder(folder, "give another --output"):
        if not is_ours:
            write_json(folder / _RECORD_FILE, {})  # from now on it is ours, also after a kill
        yield


def made_from(file: Path) -> str | None:
    """Return the hash of what a file in a text folder was made from; None if the file is missing or has no hash."""
    return _record(file.parent).get(file.name) if file.exists() else None


def note_made_from(file: Path, sha256: str) -> None:
    """Record the hash of what a file in a text folder was made from."""
    write_json(file.parent / _RECORD_FILE, {**_record(file.parent), file.name: sha256})


def _record(folder: Path) -> dict[str, str]:
    with contextlib.suppress(OSError, ValidationError):  # without a record, every file is made again
        return _RECORD.validate_json((folder / _RECORD_FILE).read_bytes())
    return {}
