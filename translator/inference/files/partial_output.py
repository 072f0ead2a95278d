"""The unfinished output of a file translation, kept so that a stopped translation continues where it was."""

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from translator.errors import StorageError
from translator.run.files import replacing, storage_errors

_HEADER_SIZE: Final = 200  # bytes
_BYTES_AT_ONCE: Final = 1 << 20


class PartialOutput:
    """The file `OUTPUT.HASH.partial`: a JSON header, and the lines of `OUTPUT` so far.

    The header has the hash of the translation, the finished lines of the input, the bytes of their output, and a
    checksum of these. It is written after the lines that it counts; what a kill left after them is written again.
    """

    def __init__(self, output: Path, fingerprint: str) -> None:
        """Open the partial file of `output`, by the `fingerprint` of the translation; it may exist."""
        self._output = output
        self._fingerprint = fingerprint
        self._path = output.with_name(f"{output.name}.{fingerprint[:12]}.partial")
        self.lines = 0  # finished lines of the input
        self._size = 0  # bytes of their output
        self._checksum = 0  # of these bytes
        with storage_errors(self._path):
            self._file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
            self._resume()

    def _resume(self) -> None:
        """Take over what the file has, if it is whole and of this translation."""
        try:
            header: dict[str, Any] = json.loads(self._file.read(_HEADER_SIZE))
            self.lines, self._size = header["lines"], header["bytes"]
        except (ValueError, KeyError):  # new, or killed while the header was written
            return
        self._checksum = self._read_text(lambda block: None)
        if header != self._header():
            self.lines = self._size = self._checksum = 0

    def _header(self) -> dict[str, Any]:
        # The number of lines is in the checksum, too: half of a header must not count lines that are not there.
        checksum = zlib.crc32(str(self.lines).encode(), self._checksum)
        return {"translation": self._fingerprint, "lines": self.lines, "bytes": self._size, "checksum": checksum}

    def _read_text(self, take: Callable[[bytes], object]) -> int:
        """Give `take` the output so far, as the disk has it, in blocks; return its checksum."""
        checksum = 0
        bytes_left = self._size
        self._file.seek(_HEADER_SIZE)
        while block := self._file.read(min(bytes_left, _BYTES_AT_ONCE)):
            take(block)
            bytes_left -= len(block)
            checksum = zlib.crc32(block, checksum)
        return checksum

    def add(self, output: str, lines: int) -> None:
        """Append `output`, that of the next `lines` of the input."""
        data = output.encode("utf-8")
        with storage_errors(self._path):
            # The text is on the disk before the header counts it.
            self._file.seek(_HEADER_SIZE + self._size)
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())
            self.lines += lines
            self._size += len(data)
            self._checksum = zlib.crc32(data, self._checksum)
            self._file.seek(0)
            self._file.write(json.dumps(self._header()).ljust(_HEADER_SIZE).encode())
            self._file.flush()

    def finish(self) -> None:
        """Write `OUTPUT`, and delete the partial file.

        Raises StorageError: the partial file has changed since it was written; `OUTPUT` stays as it was.
        """
        with storage_errors(self._output):
            # The text is read from the disk again, so memory stays flat, and damage is noticed.
            with replacing(self._output) as stream:
                if self._read_text(stream.write) != self._checksum:
                    raise StorageError(
                        f"cannot write {self._output}: {self._path} was damaged on the disk; check the disk, and "
                        "repeat the command, which starts over"
                    )
            self.discard()

    def discard(self) -> None:
        """Delete the partial file."""
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the partial file, which stays for the next call if it has translations."""
        self._file.close()
        if not self.lines:
            self.discard()
