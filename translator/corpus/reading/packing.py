"""Read files as blocks of bytes: plain, compressed by gzip, xz or zstd, or as a member of a zip archive."""

import contextlib
import errno
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final

import zstandard

from translator.errors import CorpusError, TranslatorError
from translator.run.files import storage_errors
from translator.run.text import excerpt

BLOCK: Final = 1 << 17  # bytes of a block
_PACKED_AT_A_TIME: Final = 1 << 14  # bytes decompressed at a time
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


def refuse_stream(path: Path, label: str) -> None:
    """Raise CorpusError for a pipe or a device, which cannot be read twice, or never ends; messages call it `label`."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise CorpusError(f"{label} is a pipe or a device; write its text to a file and give that")


def packing_of(path: Path) -> str | None:
    """Return the compression of a file, such as "gzip file", by its first bytes, whatever its name; None for text."""
    refuse_stream(path, str(path))
    with storage_errors(path, "read"), path.open("rb") as stream:
        return packing_of_bytes(stream.read(512))


@contextlib.contextmanager
def damaged_files(path: Path) -> Iterator[None]:
    """Convert any error that a library raises for damaged data into a `CorpusError` about `path`."""
    with storage_errors(path, "read"):
        try:
            yield
        except TranslatorError:  # it has its message already
            raise
        except RuntimeError as error:  # a zip with a password, or compressed by an unsupported method
            advice = "compress it again by another method and without a password"
            raise CorpusError(f"{path} cannot be decompressed ({error}); {advice}") from error
        except Exception as error:
            # An error of the system, such as of a disk that cannot be read, has a number, and `storage_errors` explains
            # it. But EINVAL may come from the negative offset that a damaged zip gives.
            is_of_system = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
            if is_of_system:
                raise
            reason = excerpt(str(error), 200)
            raise CorpusError(f"{path} is damaged or truncated ({reason}); download or copy the file again") from error


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


def read_blocks(path: Path, member: str | None = None) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file, or of the `member` of a zip, in blocks.

    Raises CorpusError: the file is damaged, an unsupported archive, or a zip without `member`.
    """
    # 1. Refuse what cannot be unpacked. A member of a zip is read as it is, even if it is packed itself.
    kind = packing_of(path) if member is None else None
    if kind == "zip archive":
        members_of(path)  # raises with its own message for a document of Word or Excel, which is a zip too
        raise CorpusError(
            f"{path} is a zip archive; unpack it, or as a corpus give it as `path`, not as `source_path` or "
            "`target_path`"
        )
    if kind is not None and kind not in _UNPACKERS:
        raise CorpusError(f"{path} is an unsupported {kind}; unpack it, or use gzip, xz or zstd for its files")

    # 2. Read the file, and unpack it if it is packed, or the member of a zip.
    with damaged_files(path), contextlib.ExitStack() as stack:
        if member is not None:
            archive = stack.enter_context(zipfile.ZipFile(path))
            stream = stack.enter_context(archive.open(member))
        else:
            stream = stack.enter_context(path.open("rb"))
        if kind is not None:
            yield from _unpacked(stream, _UNPACKERS[kind])
        else:
            yield from iter(lambda: stream.read(BLOCK), b"")


def _unpacked(packed: IO[bytes], new_frame: Callable[[], Any]) -> Iterator[bytes]:
    """Decompress consecutive frames, separated by optional zero bytes; raise EOFError if the last is truncated.

    The libraries' own readers are not used: they ignore data after the first xz stream, and the truncation of a zstd
    file.
    """
    frame = None  # the decompressor of a frame that has not ended yet
    unused = b""  # what was read after the end of a frame
    while data := unused or packed.read(_PACKED_AT_A_TIME):
        unused = b""
        # 1. Begin a frame, after the zero bytes that may precede it.
        if frame is None:
            data = data.lstrip(b"\0")
            if not data:
                continue
            frame = new_frame()

        # 2. Decompress. After the end of a frame, another one may follow, in `unused` or in the file.
        if content := frame.decompress(data):
            yield content
        unused = frame.unused_data
        if frame.eof:
            frame = None
    if frame is not None:
        raise EOFError("it ends in the middle")
