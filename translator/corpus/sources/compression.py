"""The bytes of a file: plain, or unpacked from gzip, xz or zstd, in blocks, with a bound on what comes out."""

import contextlib
import errno
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol

import zstandard

from translator.errors import CorpusError
from translator.storage import storage_errors

BLOCK: Final = 1 << 17
"""Bytes handed on at a time, at most."""

_LARGEST_SMALL_FILE: Final = 64 << 20
_LARGEST_RATIO: Final = 100
_XZ_MEMORY: Final = 256 << 20  # the highest preset of xz takes 65 MiB
_ZSTD_WINDOW: Final = 128 << 20  # what the zstd program takes too, unless it is told otherwise

_BROKEN: Final = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, zstandard.ZstdError, struct.error)
"""What the unpackers raise when bytes end early or do not add up."""

_SIGNATURES: Final = {
    b"PK\x03\x04": "zip archive",
    b"PK\x05\x06": "zip archive",
    b"\x1f\x8b": "gzip file",
    b"\xfd7zXZ\x00": "xz file",
    b"\x28\xb5\x2f\xfd": "zstd file",
    **{bytes((first,)) + b"\x2a\x4d\x18": "zstd file" for first in range(0x50, 0x60)},  # frames to be skipped
    b"7z\xbc\xaf\x27\x1c": "7z archive",
    b"Rar!\x1a\x07": "rar archive",
    **{b"BZh%d1AY&SY" % level: "bzip2 file" for level in range(1, 10)},
}
_TAR: Final = slice(257, 262), b"ustar"
SUFFIXES: Final = {".gz": "gzip file", ".xz": "xz file", ".zst": "zstd file"}
"""What a file is meant to be, by the end of its name."""


class _Unpacker(Protocol):
    """One frame of packed bytes."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Packing(NamedTuple):
    unpacker: Callable[[], _Unpacker]
    step: int
    """Packed bytes given at a time: so few that they hold at most about 8 MiB of text."""


def _zstd() -> _Unpacker:
    return zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()


_PACKINGS: Final[dict[str, _Packing]] = {
    "gzip file": _Packing(lambda: zlib.decompressobj(16 + zlib.MAX_WBITS), 1 << 12),
    "xz file": _Packing(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY), 1 << 10),
    "zstd file": _Packing(_zstd, 1 << 8),
}


def kind_of(start: bytes) -> str | None:
    """Return what the first bytes of a file say it is, like "gzip file"; None for text."""
    for signature, kind in _SIGNATURES.items():
        if start.startswith(signature):
            return kind
    place, mark = _TAR
    return "tar archive" if start[place] == mark else None


def first_bytes(path: Path) -> bytes:
    """Return as many bytes of a file as `kind_of` needs.

    Raises:
        StorageError: the file may not be read.
    """
    with storage_errors(path, "read"), path.open("rb") as stream:
        return stream.read(512)


def largest_unpacked(packed: int) -> int:
    """Return the number of bytes that `packed` bytes of text may unpack to; more is an attack, or no text."""
    return max(_LARGEST_SMALL_FILE, _LARGEST_RATIO * packed)


def refuse_to_unpack(label: str, packed: int) -> CorpusError:
    """Return the error for what unpacks to more than `largest_unpacked`."""
    return CorpusError(
        f"{label} unpacks to more than {largest_unpacked(packed):,} bytes from {packed:,}, which no text does; "
        "get it again from a place that you trust, or unpack it yourself if you know what it is"
    )


@contextlib.contextmanager
def damaged_files(path: Path) -> Iterator[None]:
    """Turn what damaged or hostile packed bytes raise into a `CorpusError` that names `path`."""
    with storage_errors(path, "read"):
        try:
            yield
        except _BROKEN as error:
            raise CorpusError(f"{path} is damaged or was cut off ({error}); get the file again") from error
        except NotImplementedError as error:  # a version of zip that only other programs know
            raise CorpusError(f"{path} cannot be unpacked ({error}); pack it again with deflate") from error
        except MemoryError as error:
            raise CorpusError(f"{path} takes more memory to unpack than there is; get it packed otherwise") from error
        except OSError as error:
            # bz2 gives no number; a damaged zip may send the reader to a place before its beginning
            if error.errno not in (None, errno.EINVAL):
                raise
            raise CorpusError(f"{path} is damaged ({error}); get the file again") from error


def file_blocks(path: Path) -> Generator[bytes, None, None]:
    """Yield the text of a plain, gzip, xz or zstd file in blocks, known by its first bytes or else by its suffix.

    Raises:
        CorpusError: it is an archive, or packed twice, damaged or cut off, or unpacks to absurdly much.
        StorageError: the file may not be read.
    """
    start = first_bytes(path)
    kind = kind_of(start) or SUFFIXES.get(path.suffix.lower())
    if kind == "zip archive":
        raise CorpusError(f"{path} is a zip archive; give it as `path`, not as `source_path` or `target_path`")
    if kind is not None and kind not in _PACKINGS:
        raise CorpusError(f"{path} is a {kind}, which is not read; unpack it, or pack its files with gzip, xz or zstd")
    if kind is not None and not start:
        raise CorpusError(f"{path} is damaged or was cut off (it has no bytes); get the file again")
    with damaged_files(path), path.open("rb") as stream:
        if kind is None:
            while block := stream.read(BLOCK):
                yield block
        else:
            packed = path.stat().st_size
            yield from text_blocks(_unpack(stream, _PACKINGS[kind]), str(path), packed)


def text_blocks(pieces: Iterator[bytes], label: str, packed: int) -> Iterator[bytes]:
    """Yield unpacked `pieces` in blocks of even size.

    Raises:
        CorpusError: they are packed once more, or more than `packed` bytes can hold; told before they are handed on.
    """
    largest = largest_unpacked(packed)
    unpacked = 0
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if unpacked + size > largest:
            raise refuse_to_unpack(label, packed)
        if size >= BLOCK:
            yield from _even(b"".join(waiting), label, unpacked == 0)
            unpacked += size
            waiting, size = [], 0
    yield from _even(b"".join(waiting), label, unpacked == 0)


def _even(joined: bytes, label: str, first: bool) -> Iterator[bytes]:
    kind = kind_of(joined[:512]) if first else None
    if kind is not None:
        raise CorpusError(f"{label} holds a {kind}: packed twice; unpack it once and give what comes out")
    for place in range(0, len(joined), BLOCK):
        yield joined[place : place + BLOCK]


def _unpack(stream: BinaryIO, packing: _Packing) -> Iterator[bytes]:
    """Yield what comes out of all frames in `stream`, one after another, with zero bytes between them or not."""
    unpacker: _Unpacker | None = None
    data = b""
    while data := data or stream.read(packing.step):
        if unpacker is None:
            data = data.lstrip(b"\0")
            if not data:
                continue
            unpacker = packing.unpacker()
        yield unpacker.decompress(data)
        data = b""
        if unpacker.eof:
            data = unpacker.unused_data
            unpacker = None
    if unpacker is not None:
        raise EOFError("it ends in the middle")
