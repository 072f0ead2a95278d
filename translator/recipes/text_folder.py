"""A folder of text that a command makes from a run, and that a repeated command goes on with."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from translator.errors import InputError
from translator.run.files import hold_folder, write_json

RECORD_FILE: Final = "made-from.json"
_RECORD: Final = TypeAdapter(dict[str, str])


class TextFolder:
    """The record of what each file in a folder was made from: a hash by the name of the file.

    A file is written whole, and then noted. So a file whose hash is in the record is complete, and one that a kill left
    without it is made again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._hashes: dict[str, str] = {}
        with contextlib.suppress(OSError, ValidationError):  # without a record, every file is made again
            self._hashes = _RECORD.validate_json((folder / RECORD_FILE).read_bytes())

    def made_from(self, name: str) -> str | None:
        """Return the hash of what a file was made from; None if the file is missing or not noted."""
        return self._hashes.get(name) if (self.folder / name).exists() else None

    def note(self, name: str, made_from: str) -> None:
        """Record the hash of what a file was made from."""
        self._hashes[name] = made_from
        write_json(self.folder / RECORD_FILE, self._hashes)


@contextlib.contextmanager
def text_folder(folder: Path, names: Iterable[str]) -> Iterator[TextFolder]:
    """Hold a folder while a command fills it; yield its record.

    Args:
        folder: made if it is missing.
        names: the files that the block writes.

    Raises:
        InputError: the folder has no record, so it is not ours, and it has one of the files.
        RunError: another process fills the folder.
    """
    if not (folder / RECORD_FILE).exists():
        for name in names:
            if (folder / name).exists():
                raise InputError(
                    f"{folder / name} was not made by this command, and would be replaced; move it away, or give "
                    "another --output"
                )
    folder.mkdir(parents=True, exist_ok=True)
    with hold_folder(folder, "give another --output"):
        texts = TextFolder(folder)
        # From now on the folder is ours, also after a kill.
        if not (folder / RECORD_FILE).exists():
            write_json(folder / RECORD_FILE, {})
        yield texts
