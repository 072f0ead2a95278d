"""A record of the files that this program made in a folder, so that it never replaces a file of the user's."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from translator.errors import InputError
from translator.run.files import LOCK_FILE, hold_folder, sha256_of_file, storage_errors, write_json
from translator.run.output_paths import refuse_input_as_output

RECORD_FILE: Final = ".translator-made.json"


@dataclass(frozen=True)
class MadeFile:
    """The SHA-256 of a file and of all that it was made from; both are None while the file is written."""

    sha256: str | None = None
    made_from: str | None = None


_RECORD: Final = TypeAdapter(dict[str, MadeFile])


class MadeFiles:
    """The files that this program made in a folder, by the record `.translator-made.json` in it.

    A name enters the record before the file is first written, so the record is right after a kill at any time. The
    caller holds the folder (see `hold_folder`).
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / RECORD_FILE
        self._entries: dict[str, MadeFile] = {}  # by path inside the folder
        with contextlib.suppress(OSError, ValidationError):  # without a record, every file is the user's
            self._entries = _RECORD.validate_json(self._file.read_bytes())

    def refuse_strangers(self, paths: Iterable[Path]) -> None:
        """Raise InputError if one of `paths` exists and is not, byte for byte, what this program made."""
        for path in paths:
            if os.path.lexists(path) and not self._is_ours(path):
                raise InputError(
                    f"{path} was not made by this command, or has been changed since, and would be replaced; move it "
                    "away, or give another --output"
                )

    def is_current(self, path: Path, made_from: str) -> bool:
        """Return whether `path` is, byte for byte, what this program made from `made_from`, a hash."""
        entry = self._entries.get(self._name(path))
        return entry is not None and entry.made_from == made_from and self._is_ours(path)

    @contextlib.contextmanager
    def writing(self, path: Path, made_from: str | None = None) -> Iterator[None]:
        """Note that the block makes `path`, atomically, from what has the hash `made_from`.

        Raises InputError: `path` exists and this program did not make it.
        """
        self.refuse_strangers([path])
        # First the name, then the file: a kill between the two leaves an entry without a file, and never a file of ours
        # that looks like the user's.
        self._note(path, MadeFile())
        yield
        with storage_errors(path, "read"):
            self._note(path, MadeFile(sha256=sha256_of_file(path), made_from=made_from))

    def _name(self, path: Path) -> str:
        return os.path.relpath(path, self._folder)

    def _is_ours(self, path: Path) -> bool:
        entry = self._entries.get(self._name(path))
        if entry is None:
            return False
        with storage_errors(path, "read"):
            return entry.sha256 is None or (path.is_file() and sha256_of_file(path) == entry.sha256)

    def _note(self, path: Path, entry: MadeFile) -> None:
        self._entries[self._name(path)] = entry
        write_json(self._file, _RECORD.dump_python(self._entries, mode="json"))


@contextlib.contextmanager
def filled_folder(folder: Path, inputs: Iterable[Path | str], outputs: Sequence[Path]) -> Iterator[MadeFiles]:
    """Hold a folder that a verb fills with files; yield its record.

    Args:
        folder: made if it is missing.
        inputs: the files that the verb reads.
        outputs: the files that the block will write.

    Raises:
        InputError: one of `outputs` is one of `inputs`, or a file that this program did not make.
        RunError: another process fills the folder.
    """
    inputs = list(inputs)
    # A verb that is refused leaves no lock in a folder of the user's.
    if not (folder / LOCK_FILE).exists():
        _check_outputs(MadeFiles(folder), inputs, outputs)
    folder.mkdir(parents=True, exist_ok=True)
    with hold_folder(folder, "give another --output"):
        made_files = MadeFiles(folder)
        _check_outputs(made_files, inputs, outputs)
        yield made_files


def _check_outputs(made_files: MadeFiles, inputs: Iterable[Path | str], outputs: Sequence[Path]) -> None:
    """Raise InputError if one of `outputs` is one of `inputs`, or a file that this program did not make."""
    # An output that is an input would be destroyed before it is read.
    for output in outputs:
        if output.exists():
            refuse_input_as_output(inputs, output)
    made_files.refuse_strangers(outputs)
