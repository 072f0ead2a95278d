"""The unfinished output of a file translation, kept so that a stopped translation continues where it was."""

import json
import os
import zlib
from pathlib import Path
from typing import Any

from translator.errors import StorageError
from translator.run.files import replacing, storage_errors


class PartialOutput:
    """The file `OUTPUT.HASH.partial`: a line for each finished block, with a checksum of the line.

    A line has in JSON the number of input lines of its block, and their output. Its checksum shows whether a kill or
    the disk damaged it. The first damaged line and all after it are written again, in the same place.
    """

    def __init__(self, output: Path, fingerprint: str) -> None:
        """Open the partial file of `output` for the translation with this `fingerprint`, or create it."""
        self._output = output
        self._path = output.with_name(f"{output.name}.{fingerprint[:12]}.partial")
        self.lines = 0  # finished lines of the input
        self._size = 0  # bytes of the blocks of these lines
        with storage_errors(self._path):
            self._file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
            # Each line of this file is a block. Count the blocks before the first damaged one. New blocks overwrite it
            # and all after it.
            for block_line in self._file:
                block = _sound_block(block_line)
                if block is None:
                    break
                self.lines += block["lines"]
                self._size += len(block_line)
            self._file.seek(self._size)

    def add(self, output: str, lines: int) -> None:
        """Append `output`, that of the next `lines` of the input."""
        content = json.dumps({"lines": lines, "output": output}).encode() + b"\n"
        line = b"%08x %s" % (zlib.crc32(content), content)
        with storage_errors(self._path):
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        self.lines += lines
        self._size += len(line)

    def finish(self) -> None:
        """Write `OUTPUT`, and delete the partial file.

        Raises StorageError: the partial file has changed since it was written; `OUTPUT` stays as it was.
        """
        with storage_errors(self._output):
            # The text is read from the disk again, so memory stays flat, and damage is noticed.
            self._file.seek(0)
            with replacing(self._output) as stream:
                while self._file.tell() < self._size:
                    block = _sound_block(self._file.readline())
                    if block is None:
                        raise StorageError(
                            f"cannot write {self._output}: {self._path} was damaged on the disk; check the disk, and "
                            "repeat the command, which goes on before the damage"
                        )
                    stream.write(block["output"].encode("utf-8"))
            self.discard()

    def discard(self) -> None:
        """Delete the partial file."""
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the partial file, which stays for the next call if it has translations."""
        self._file.close()
        if not self.lines:
            self.discard()


def _sound_block(line: bytes) -> dict[str, Any] | None:
    """Return the block of a line; None if the line is damaged."""
    checksum, _, content = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(content):
        return None
    block: dict[str, Any] = json.loads(content)
    return block
