"""Decompress and decode corpus files into lines and pairs, from two parallel files or the columns of a table."""

import contextlib
import errno
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import zstandard

from translator.errors import CorpusError
from translator.run.storage import storage_errors

LONGEST_LINE: Final = 1 << 20  # bytes of a line without its end; longer lines are dropped
BLOCK: Final = 1 << 17  # bytes decoded at a time
_PACKED_AT_A_TIME: Final = 1 << 10  # bytes decompressed at a time
_BOM: Final = b"\xef\xbb\xbf"
_BROKEN: Final = (
    *(EOFError, ValueError, IndexError, OverflowError, MemoryError, struct.error),
    *(zlib.error, lzma.LZMAError, zstandard.ZstdError, zipfile.BadZipFile, tarfile.TarError),
)
"""Errors that decompressors raise for truncated or damaged data."""
_SIGNATURES: Final = {
    b"PK\x03\x04": "zip archive",
    b"PK\x05\x06": "zip archive",
    b"\x1f\x8b": "gzip file",
    b"\xfd7zXZ\x00": "xz file",
    b"\x28\xb5\x2f\xfd": "zstd file",
    b"7z\xbc\xaf\x27\x1c": "7z archive",
    b"Rar!\x1a\x07": "rar archive",
    b"BZh": "bzip2 file",
}
_SUFFIXES: Final = {".gz": "gzip file", ".xz": "xz file", ".zst": "zstd file", ".zip": "zip archive"}
_UNPACKERS: Final[dict[str, Callable[[], Any]]] = {
    "gzip file": lambda: zlib.decompressobj(16 + zlib.MAX_WBITS),
    "xz file": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
    "zstd file": lambda: zstandard.ZstdDecompressor().decompressobj(),
}
"""Each makes a decompressor of one frame, with `decompress`, `eof` and `unused_data`."""


def packing_of(path: Path) -> str | None:
    """Return the compression of a file, such as "gzip file", by its first bytes or its suffix; None for text."""
    with storage_errors(path, "read"), path.open("rb") as stream:
        start = stream.read(512)
    known = (kind for signature, kind in _SIGNATURES.items() if start.startswith(signature))
    return "tar archive" if start[257:262] == b"ustar" else next(known, _SUFFIXES.get(path.suffix.lower()))


@contextlib.contextmanager
def damaged_files(path: Path) -> Iterator[None]:
    """Convert the errors of damaged compressed data into a `CorpusError` that names `path`."""
    with storage_errors(path, "read"):
        try:
            yield
        except RuntimeError as error:  # encrypted, or an unsupported compression method
            advice = "compress it again with deflate and without a password"
            raise CorpusError(f"{path} cannot be decompressed ({error}); {advice}") from error
        except (*_BROKEN, OSError) as error:
            # bz2 and gzip give no number; a damaged zip may give a negative offset
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise
            raise CorpusError(f"{path} is damaged or truncated ({error}); get the file again") from error


@contextlib.contextmanager
def open_text(path: Path, member: str | None = None) -> Iterator[IO[bytes]]:
    """Yield the bytes of a plain, gzip, xz or zstd file, or of a zip's `member`; raise CorpusError for others."""
    kind = packing_of(path)
    if member is None and kind == "zip archive":
        raise CorpusError(f"{path} is a zip archive; give it as `path`, not as `source_path` or `target_path`")
    if member is None and kind is not None and kind not in _UNPACKERS:
        raise CorpusError(f"{path} is an unsupported {kind}; unpack it, or use gzip, xz or zstd for its files")
    with damaged_files(path), contextlib.ExitStack() as stack:
        if member is not None:
            yield stack.enter_context(stack.enter_context(zipfile.ZipFile(path)).open(member))
            return
        stream = stack.enter_context(path.open("rb"))
        yield stream if kind is None else io.BufferedReader(_Stream(_unpacked(stream, _UNPACKERS[kind])))


def _unpacked(packed: IO[bytes], new_frame: Callable[[], Any]) -> Iterator[bytes]:
    """Decompress consecutive frames, separated by optional zero bytes; raise EOFError if the last is truncated.

    The readers of the libraries ignore data after the first xz stream, and the truncation of a zstd file.
    """
    frame, some, unused = None, False, b""
    while data := unused or packed.read(_PACKED_AT_A_TIME):
        unused = b""
        if frame is None:
            data = data.lstrip(b"\0")
            if not data:
                continue
            frame, some = new_frame(), True
        yield frame.decompress(data)
        unused = frame.unused_data
        frame = None if frame.eof else frame
    if frame is not None or not some:
        raise EOFError("it ends in the middle" if some else "it has no bytes")


class _Stream(io.RawIOBase):
    """A binary stream over an iterator of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and (piece := next(self._pieces, None)) is not None:
            self._ready = piece
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


class Unreadable(StrEnum):
    """Marks a line that could not be read; the value is the rule that drops its pair."""

    LINE_TOO_LONG = "line_too_long"
    INVALID_UTF8 = "invalid_utf8"


def read_lines(stream: IO[bytes], label: str, *, drop_invalid: bool) -> Iterator[list[str]]:
    """Yield the lines of a text, many at a time, with an `Unreadable` for each that cannot be read.

    A line ends at "\\n" or "\\r\\n" and nowhere else; byte order marks at its start are dropped. Memory stays flat.

    Raises CorpusError, unless `drop_invalid`: a line of the text `label` is not UTF-8; the lines before it are
    yielded first.
    """
    number, offset = 1, 0  # of the first line not yet yielded
    while data := stream.read(BLOCK) + stream.readline(LONGEST_LINE + 2):
        size = len(data)
        while not data.endswith(b"\n") and (rest := stream.readline(BLOCK)):  # of a line that is too long
            size += len(rest)
            data += b"\n" if rest.endswith(b"\n") else b""
        lines = _decode(data)
        if lines is None:
            lines, place = [], offset
            for raw in io.BytesIO(data):
                line = raw[:-2] if raw.endswith(b"\r\n") else raw.removesuffix(b"\n")
                try:
                    too_long = len(line) > LONGEST_LINE
                    lines.append(Unreadable.LINE_TOO_LONG if too_long else line.decode("utf-8").lstrip("\ufeff"))
                except UnicodeDecodeError as error:
                    if not drop_invalid:
                        yield lines
                        raise CorpusError(
                            f"{label}, line {number + len(lines)}: not UTF-8 (byte 0x{line[error.start]:02x} at byte "
                            f"offset {place + error.start:,} of the text); convert the file to UTF-8 first, or set "
                            "`invalid_utf8: drop` for this source to skip these lines"
                        ) from error
                    lines.append(Unreadable.INVALID_UTF8)
                place += len(raw)
        yield lines
        number, offset = number + len(lines), offset + size


def _decode(data: bytes) -> list[str] | None:
    """Return the lines of `data`; None if one of them cannot be read."""
    if len(data) > LONGEST_LINE:  # then the last line may be too long
        return None
    try:
        # Searching for "\r" first is many times faster than searching for "\r\n".
        text = (data.replace(b"\r\n", b"\n") if b"\r" in data else data).decode("utf-8")
    except UnicodeDecodeError:
        return None
    lines = text.removesuffix("\n").split("\n")
    return [line.lstrip("\ufeff") for line in lines] if _BOM in data else lines


class Pair(NamedTuple):
    """One line of a parallel corpus, English and Persian, as read."""

    line: int  # 1-based, in its file
    source: str
    target: str
    defect: str | None = None  # the rule that drops an unreadable pair, whose texts are empty


class UnequalSidesError(Exception):
    """The two sides of a corpus have different numbers of lines."""


def pairs_of_sides(english: Iterable[str], persian: Iterable[str]) -> Iterator[Pair]:
    """Yield the pairs of two texts, and then raise UnequalSidesError if one text has more lines."""
    for line, (source, target) in enumerate(zip_longest(english, persian), start=1):
        if type(source) is str and type(target) is str:
            yield Pair(line, source, target)
        elif source is None or target is None:
            raise UnequalSidesError
        else:
            yield Pair(line, "", "", str(source if isinstance(source, Unreadable) else target))


def pairs_of_table(lines: Iterable[str], file: Path) -> Iterator[Pair]:
    """Yield the pairs of a table; raise CorpusError for a line without exactly two columns."""
    for line, text in enumerate(lines, start=1):
        columns = text.split("\t")
        if len(columns) == 2:
            yield Pair(line, columns[0], columns[1])
        elif isinstance(text, Unreadable):
            yield Pair(line, "", "", str(text))
        else:
            count = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
            raise CorpusError(
                f"{file}, line {line}: {count} where two are expected (English, one tab, Persian); fix the line, or "
                "give two files as `source_path` and `target_path`"
            )
