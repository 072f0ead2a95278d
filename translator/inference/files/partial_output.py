"""The unfinished output of a file translation, kept so that a stopped translation continues where it was."""

import fcntl
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import TypeAdapter, ValidationError

from translator.errors import InputError, StorageError
from translator.run.files import replacing, storage_errors
from translator.run.logging import LOGGER


class PartialChunk(NamedTuple):
    """A line of a partial file: the output of some lines of the input, and where they are."""

    first_line: int  # number of the first line of the input, from 1
    lines: int
    checksum: int  # CRC-32 of `output`
    output: str

    def fits(self, first_line: int) -> bool:
        """Return whether this is the whole output of the lines from `first_line` on."""
        return self.first_line == first_line and self.lines > 0 and self.checksum == _checksum(self.output)


_CHUNK: Final = TypeAdapter(PartialChunk)


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode("utf-8"))


class PartialOutput:
    """The file `OUTPUT.HASH.partial`, JSON lines of finished chunks, from which `OUTPUT` is written at the end.

    The first line names the translation. Each chunk has the numbers of its lines and a checksum, so that nothing torn
    or foreign is ever taken for the translation of a line. One process at a time locks the file.

    Raises InputError: another process is writing it, or a file of other content has its name.
    """

    def __init__(self, output: Path, fingerprint: str) -> None:
        """Open and lock the partial file of `output`, by the `fingerprint` of the translation; it may exist."""
        self._output = output
        self._path = output.with_name(f"{output.name}.{fingerprint[:12]}.partial")
        # The name has only a part of the fingerprint, so the first line has all of it.
        self._head = f'{{"translation": "{fingerprint}"}}\n'.encode()
        self.lines = 0  # finished lines of the input
        with storage_errors(self._path):
            self._file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
            if not self._lock():
                self._file.close()
                raise InputError(f"another process is writing {output}; wait for it, or give another output")
            self._resume()

    def _lock(self) -> bool:
        """Return whether no other process holds the file, which is locked now if the file system has locks."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder of the lock may just have deleted the file.
            return self._path.exists() and os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
        except OSError as error:  # raised by a file system without locks
            return not isinstance(error, BlockingIOError)

    def _resume(self) -> None:
        """Read the finished chunks, and cut off what follows them."""
        # 1. The first line names the translation.
        head = self._file.readline()
        if not self._head.startswith(head):
            self._file.close()
            raise InputError(f"{self._path} is not a part of this translation; move it away, or give another output")
        if head != self._head:  # new, or killed while the first line was written
            self._file.seek(0)
            self._file.write(self._head)
            self._file.flush()

        # 2. Count the finished lines.
        end = len(self._head)
        for chunk, chunk_end in self._chunks():
            self.lines += chunk.lines
            end = chunk_end

        # 3. Cut off the remainder.
        self._file.seek(end)
        next_line = self._file.readline()
        if next_line.endswith(b"\n"):  # a line without its end was cut short by a kill
            message = "%s: what follows line %d does not fit, and is translated again"
            LOGGER.warning(message, self._path, self.lines)
        self._file.seek(end)
        self._file.truncate()

    def _chunks(self) -> Iterator[tuple[PartialChunk, int]]:
        """Yield the chunks that fit, in order, each with the place where it ends in the file."""
        self._file.seek(len(self._head))
        next_line = 1
        while (line := self._file.readline()).endswith(b"\n"):
            try:
                chunk = _CHUNK.validate_json(line)
            except ValidationError:
                return
            if not chunk.fits(next_line):
                return
            next_line += chunk.lines
            yield chunk, self._file.tell()

    def close(self) -> None:
        """Release the lock; delete the file if it has no translations."""
        if not self.lines:
            self._path.unlink(missing_ok=True)
        self._file.close()

    def add(self, output: str, lines: int) -> None:
        """Append `output`, that of the next `lines` of the input."""
        # Each chunk is on the disk before it counts as finished.
        chunk = PartialChunk(first_line=self.lines + 1, lines=lines, checksum=_checksum(output), output=output)
        with storage_errors(self._path):
            self._file.write(_CHUNK.dump_json(chunk) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        self.lines += lines

    def finish(self) -> None:
        """Write `OUTPUT` from the chunks, and delete the partial file.

        Raises StorageError: the partial file has changed since it was written; `OUTPUT` stays as it was.
        """
        with storage_errors(self._output):
            with replacing(self._output) as stream:
                # The chunks are read from the disk again, so memory stays flat, and the checksums are checked once
                # more.
                whole_lines = 0
                for chunk, _ in self._chunks():
                    stream.write(chunk.output.encode("utf-8"))
                    whole_lines += chunk.lines
                if whole_lines != self.lines:
                    raise StorageError(
                        f"cannot write {self._output}: {self._path} was damaged on the disk after line "
                        f"{whole_lines} of {self.lines}; check the disk, and repeat the command, which continues there"
                    )
            self._path.unlink(missing_ok=True)
