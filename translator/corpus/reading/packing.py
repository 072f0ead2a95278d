"""Read files as blocks of bytes: plain, compressed by gzip, xz or zstd, or as a member of a zip archive."""

import codecs
import contextlib
import errno
import itertools
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final

import zstandard

from translator.errors import CorpusError
from translator.run.files import storage_errors

BLOCK: Final = 1 << 17  # bytes of a block
_PACKED_AT_A_TIME: Final = 1 << 10  # bytes decompressed at a time
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
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_UNPACKERS: Final[dict[str, Callable[[], Any]]] = {
    "gzip file": lambda: zlib.decompressobj(16 + zlib.MAX_WBITS),
    "xz file": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
    "zstd file": lambda: zstandard.ZstdDecompressor().decompressobj(),
}
"""Each makes a decompressor of one frame, with `decompress`, `eof` and `unused_data`."""
_DOCUMENT_PARTS: Final = frozenset(("[Content_Types].xml", "mimetype"))
"""Members of zip archives that are documents: of Word, Excel or PowerPoint, of OpenDocument, or e-books."""


def packing_of_bytes(start: bytes) -> str | None:
    """Return the compression of a file, such as "gzip file", by its first 512 bytes; None for any other."""
    if start[257:262] == b"ustar":
        return "tar archive"
    for signature, kind in _SIGNATURES.items():
        if start.startswith(signature):
            return kind
    return None


def packing_of(path: Path) -> str | None:
    """Return the compression of a file, such as "gzip file", by its first bytes; None for text.

    Text may be called `.gz`, but damaged bytes need that name to be recognised, and a page of a server may be `.zip`.
    """
    with storage_errors(path, "read"), path.open("rb") as stream:
        start = stream.read(512)
    kind = packing_of_bytes(start)
    suffix = path.suffix.lower()
    if kind is not None or (suffix != ".zip" and _is_text(start)):
        return kind
    return _SUFFIXES.get(suffix)


def _is_text(start: bytes) -> bool:
    """Return whether the first bytes of a file are text in UTF-8, or in UTF-16 with a byte order mark."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)  # the last character may not be whole
    except UnicodeDecodeError:
        return False
    return start != b"" and _CONTROL.search(start) is None


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
            raise CorpusError(f"{path} is damaged or truncated ({error}); download or copy the file again") from error


def members_of(path: Path) -> list[str]:
    """Return the names of the files in a zip archive; raise CorpusError for a document of another program."""
    with damaged_files(path), zipfile.ZipFile(path) as archive:
        names = [member.filename for member in archive.infolist() if not member.is_dir()]
    if not _DOCUMENT_PARTS.isdisjoint(names):
        raise CorpusError(
            f"{path} is a document, as Word, Excel or LibreOffice write them, not text; save it as plain text in "
            "UTF-8, one sentence per line, or a table as CSV"
        )
    return names


def read_blocks(path: Path, member: str | None = None, size: int | None = None) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file, or of the `member` of a zip, in blocks of `size` bytes (default: BLOCK).

    Raises CorpusError: the file is damaged, an unsupported archive, or a zip without `member`.
    """
    size = size or BLOCK
    kind = packing_of(path)
    if member is None and kind == "zip archive":
        members_of(path)  # names the program of a document
        raise CorpusError(
            f"{path} is a zip archive; unpack it, or as a corpus give it as `path`, not as `source_path` or "
            "`target_path`"
        )
    if member is None and kind is not None and kind not in _UNPACKERS:
        raise CorpusError(f"{path} is an unsupported {kind}; unpack it, or use gzip, xz or zstd for its files")
    with damaged_files(path), contextlib.ExitStack() as stack:
        if member is not None:
            archive = stack.enter_context(zipfile.ZipFile(path))
            stream = stack.enter_context(archive.open(member))
        else:
            stream = stack.enter_context(path.open("rb"))
        if kind in _UNPACKERS and member is None:
            yield from _joined(_unpacked(stream, _UNPACKERS[kind]), size)
        else:
            yield from iter(lambda: stream.read(size), b"")


def _unpacked(packed: IO[bytes], new_frame: Callable[[], Any]) -> Iterator[bytes]:
    """Decompress consecutive frames, separated by optional zero bytes; raise EOFError if the last is truncated.

    The readers of the libraries ignore data after the first xz stream, and the truncation of a zstd file.
    """
    frame, has_frames, unused = None, False, b""
    while data := unused or packed.read(_PACKED_AT_A_TIME):
        unused = b""
        if frame is None:
            data = data.lstrip(b"\0")
            if not data:
                continue
            frame, has_frames = new_frame(), True
        yield frame.decompress(data)
        unused = frame.unused_data
        frame = None if frame.eof else frame
    if frame is not None or not has_frames:
        raise EOFError("it ends in the middle" if has_frames else "it has no bytes")


def _joined(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Join consecutive pieces into blocks of at least `size` bytes, and cut those that are larger."""
    waiting: list[bytes] = []
    waiting_bytes = 0
    for piece in itertools.chain(pieces, [None]):
        if piece is not None:
            waiting.append(piece)
            waiting_bytes += len(piece)
        if waiting_bytes >= size or piece is None:
            data = b"".join(waiting)
            waiting, waiting_bytes = [], 0
            for start in range(0, len(data), size):
                yield data[start : start + size]
