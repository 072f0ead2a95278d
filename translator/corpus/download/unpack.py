"""Taking a few texts out of an archive from the net, without trusting it: nothing else of it is ever written."""

import contextlib
import gzip
import io
import posixpath
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

from translator.corpus.download.foreign_text import printable
from translator.errors import CorpusError
from translator.storage import storage_errors

_LARGEST_TEXT: Final = 32 << 20
"""Bytes of one text; those of FLORES-200 have less than one hundredth of that."""
_LARGEST_TAR: Final = 1 << 30
"""Bytes of a whole tar, unpacked; a small file can pretend to any size."""
_MOST_MEMBERS: Final = 10_000
_CHUNK: Final = 1 << 16
_BROKEN: Final = (
    EOFError,
    zlib.error,
    gzip.BadGzipFile,
    tarfile.TarError,
    zipfile.BadZipFile,
    NotImplementedError,
    ValueError,  # from tarfile and zipfile too, for numbers and names that make no sense
)
"""What the standard library raises for archives that are not as they should be."""


class _Bounded(io.RawIOBase):
    """Reads from `stream` until it has given more than a tar of texts can have."""

    def __init__(self, stream: BinaryIO, name: Path) -> None:
        super().__init__()
        self._stream, self._name, self._left = stream, name, _LARGEST_TAR

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        chunk = self._stream.read(size)
        self._left -= len(chunk)
        if self._left < 0:
            raise CorpusError(f"{self._name} unpacks to more than {_LARGEST_TAR:,} bytes; it is not the right archive")
        return chunk


@contextlib.contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    with storage_errors(path, "read"):
        try:
            yield
        except _BROKEN as error:  # before `storage_errors`, because BadGzipFile is an OSError too
            raise CorpusError(f"{path} is damaged or was cut off ({printable(str(error))})") from error


def check_zip(path: Path, members: Collection[str]) -> None:
    """See that `path` is a zip with its end, and that it has `members`.

    Raises:
        CorpusError: it is not, or lacks one.
        StorageError: it may not be read.
    """
    with _refusing_damage(path), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    missing = [member for member in members if member not in names]
    if missing:
        listed = printable(", ".join(names)) or "none"
        raise CorpusError(f"{path} has no member {' or '.join(missing)}. Members: {listed}")


def read_texts(path: Path, members: Collection[str]) -> dict[str, bytes]:
    """Return the content of each of `members` of the tar.gz `path`, by the last two parts of its name.

    The whole archive is read, so that one that is cut off or holds anything suspicious is refused before any of it is
    used: names that lead out of it, links that do, devices, sizes beyond reason.

    Raises:
        CorpusError: the archive is damaged or suspicious, or a member is missing, there twice, or not a file.
        StorageError: it may not be read.
    """
    with _refusing_damage(path), gzip.open(path, "rb") as unpacked:
        bounded = _Bounded(cast(BinaryIO, unpacked), path)
        with tarfile.open(fileobj=bounded, mode="r|") as archive:
            texts = _read_members(path, archive, members)
        while bounded.read(_CHUNK):  # a tar ends before its bytes do, and the checksum of gzip stands at their end
            pass
    missing = [member for member in members if member not in texts]
    if missing:
        raise CorpusError(f"{path} has no member {' or '.join(missing)}; it is not the right archive")
    return texts


def _read_members(path: Path, archive: tarfile.TarFile, members: Collection[str]) -> dict[str, bytes]:
    texts: dict[str, bytes] = {}
    for number, member in enumerate(archive, start=1):
        if number > _MOST_MEMBERS:
            raise CorpusError(f"{path} has more than {_MOST_MEMBERS:,} members; it is not the right archive")
        _refuse_suspicious(path, member)
        name = "/".join(member.name.split("/")[-2:])
        if name not in members:
            continue
        if name in texts:
            raise CorpusError(f"{path} has several members {name}; it is not the right archive")
        content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
        if content is None:
            raise CorpusError(f"{path}: the member {printable(member.name)} is not a plain file")
        if member.size > _LARGEST_TEXT:
            raise CorpusError(
                f"{path}: the member {printable(member.name)} has {member.size:,} bytes; "
                f"at most {_LARGEST_TEXT:,} are accepted"
            )
        texts[name] = content.read()
    return texts


def _refuse_suspicious(path: Path, member: tarfile.TarInfo) -> None:
    """Raise `CorpusError` for a member that leads out of the archive or is neither file nor folder nor inner link."""
    leads_to = [member.name]
    if member.issym():
        leads_to.append(posixpath.join(posixpath.dirname(member.name), member.linkname))
    elif member.islnk():
        leads_to.append(member.linkname)
    elif not (member.isreg() or member.isdir()):
        raise CorpusError(f"{path} is refused: its member {printable(member.name)} is a device or a pipe")
    for place in leads_to:
        if place.startswith(("/", "\\")) or posixpath.normpath(place).split("/")[0] == ".." or "\\" in place:
            raise CorpusError(f"{path} is refused: its member {printable(member.name)} leads out of the archive")
