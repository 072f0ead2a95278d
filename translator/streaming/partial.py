"""A file that grows beside its place until it is whole, and goes on growing after its process was killed."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from translator.errors import InputError
from translator.storage import storage_errors, write_json


@dataclass(frozen=True)
class Place:
    """How far the work has come."""

    fingerprint: str = ""
    """Of all that the output is made of."""
    lines: int = 0
    """Of the input that are done."""
    input_bytes: int = 0
    """Where the next line begins."""
    output_bytes: int = 0
    """How much of the partial file is whole."""

    def to_json(self) -> dict[str, Any]:
        """Return what is saved: the fields, and the checksum by which damage to one of them is recognised."""
        fields = asdict(self)
        return fields | {"own_sha256": _own_sha256(fields)}

    @classmethod
    def from_json(cls, saved: Any) -> Self:
        """Return the place that `to_json` gave.

        Raises:
            ValueError: it did not give this.
        """
        if not isinstance(saved, dict) or saved.pop("own_sha256", None) != _own_sha256(saved):
            raise ValueError("checksum differs")
        numbers = [saved.get(name) for name in ("lines", "input_bytes", "output_bytes")]
        # Not `isinstance`, for which `true` is a number.
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError("a number is none")
        if not isinstance(saved.get("fingerprint"), str) or len(saved) != 1 + len(numbers):
            raise ValueError("the fields are others")
        return cls(**saved)


class PartialOutput:
    """Holds `OUTPUT.partial`, with its place in `OUTPUT.partial.json`, until it becomes `OUTPUT`.

    One process at a time holds it. What is written counts once its place is saved; the rest is cut off by whoever goes
    on.

    Args:
        output: the file that is to be written.

    Raises:
        InputError: another process writes the same output, or a file of somebody else is in the way.
        StorageError: the folder cannot be written.
    """

    def __init__(self, output: Path) -> None:
        self._output = output
        self.path = output.with_name(output.name + ".partial")
        self._place_file = output.with_name(output.name + ".partial.json")
        self.place = Place()
        with storage_errors(self.path):
            self._handle = self._claim()
        try:
            self.place = self._saved_place()
        except BaseException:
            os.close(self._handle)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            if not self._place_file.exists() and os.fstat(self._handle).st_size == 0:
                self.path.unlink(missing_ok=True)  # nothing has come of it
        os.close(self._handle)

    def resume(self, fingerprint: str) -> bool:
        """Go on with what is there if it was made of the same, else begin anew; return whether there was other work.

        Args:
            fingerprint: of all that the output is made of.

        Raises:
            StorageError: the file cannot be written.
        """
        others = self.place != Place() and self.place.fingerprint != fingerprint
        if self.place.fingerprint != fingerprint:
            self.place = Place(fingerprint)
            write_json(self._place_file, self.place.to_json())
        with storage_errors(self.path):
            os.ftruncate(self._handle, self.place.output_bytes)
            os.lseek(self._handle, 0, os.SEEK_END)
        return others

    def add(self, output: Sequence[str], lines: int, input_bytes: int) -> None:
        """Append `output`, the lines that came of the next `lines` of the input, which ended at byte `input_bytes`.

        Raises:
            StorageError: the disk is full.
        """
        content = "".join(f"{line}\n" for line in output).encode("utf-8")
        with storage_errors(self.path):
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(self._handle, rest) :]
            os.fsync(self._handle)
        place = self.place
        self.place = Place(place.fingerprint, place.lines + lines, input_bytes, place.output_bytes + len(content))
        write_json(self._place_file, self.place.to_json())

    def finish(self) -> None:
        """Put the whole file in its place.

        Raises:
            StorageError: it cannot be renamed.
        """
        with storage_errors(self._output):
            self.path.replace(self._output)
            self._place_file.unlink(missing_ok=True)

    def _claim(self) -> int:
        """Return a handle to the partial file that no other process has."""
        while True:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                    os.close(handle)
                    raise InputError(
                        f"another process is writing {self._output} at this moment; wait for it, or give another output"
                    ) from None
                # a file system without locks
            with contextlib.suppress(FileNotFoundError):
                if self.path.stat().st_ino == os.fstat(handle).st_ino:
                    return handle
            os.close(handle)  # its owner has just put it in its place

    def _saved_place(self) -> Place:
        """Return how far the work has come that left the file."""
        with storage_errors(self._place_file, "read"):
            try:
                place = Place.from_json(json.loads(self._place_file.read_text(encoding="utf-8")))
            except FileNotFoundError:
                place = None
            except (ValueError, RecursionError):
                raise InputError(f"{self._place_file} is damaged, or not ours; move it and {self.path} away") from None
        size = os.fstat(self._handle).st_size
        if place is None:
            if size:
                raise InputError(f"{self.path} is in the way and not ours; move it, or give another output")
            return Place()
        # A power cut may have taken what the place tells of.
        return place if size >= place.output_bytes else Place(lines=-1)


def _own_sha256(fields: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
