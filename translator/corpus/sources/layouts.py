"""Which bytes a source is made of: plain file, gzip file or zip member, and which member of a zip is which language."""

import contextlib
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, cast

from translator.errors import CorpusError
from translator.storage import storage_errors

_BUFFER: Final = 1 << 20
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZIP_MAGICS: Final = (b"PK\x03\x04", b"PK\x05\x06")
_LISTED_MEMBERS: Final = 20
_ENGLISH_MEMBER: Final = re.compile(r"(?P<stem>(?:.*[._-])?)en(?P<extension>\.txt)?", re.IGNORECASE)

_BROKEN: Final = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile)
"""What the standard library raises when compressed bytes end early or do not add up."""


def _starts_with(path: Path) -> bytes:
    with storage_errors(path, "read"), path.open("rb") as stream:
        return stream.read(4)


def is_zip(path: Path) -> bool:
    """Say whether `path` is meant as a zip archive, by its first bytes or its name."""
    return path.suffix.lower() == ".zip" or _starts_with(path) in _ZIP_MAGICS


@contextlib.contextmanager
def _broken_archives(path: Path) -> Iterator[None]:
    """Turn what a damaged archive raises into a `CorpusError`, wherever in the reading it comes up."""
    with storage_errors(path, "read"):
        try:
            yield
        except _BROKEN as error:  # before `storage_errors`, because BadGzipFile is an OSError too
            raise CorpusError(f"{path} is damaged or was cut off ({error}); get the file again") from error
        except NotImplementedError as error:  # a packing method or a version that only other programs know
            raise CorpusError(f"{path} cannot be unpacked ({error}); pack it again with deflate") from error
        except OSError as error:
            if error.errno is not None:
                raise
            raise CorpusError(f"{path} is damaged ({error}); get the file again") from error  # as bz2 has it


def _lines(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    with _broken_archives(path):  # in here, so that of two files the right one is blamed
        yield from stream


@contextlib.contextmanager
def open_file(path: Path) -> Iterator[Iterator[bytes]]:
    """Yield the lines of a plain or gzip file as bytes; gzip is known by its first bytes, so any name will do.

    Raises:
        CorpusError: the file is a zip, or gzip data that are damaged or cut off (also while they are being read).
        StorageError: the file may not be read.
    """
    start = _starts_with(path)
    gzipped = path.suffix.lower() == ".gz"
    if start in _ZIP_MAGICS:
        raise CorpusError(f"{path} is a zip archive; give it as `path`, not as `source_path` or `target_path`")
    if gzipped and not start:
        raise CorpusError(f"{path} is damaged or was cut off (it has no bytes); get the file again")
    with contextlib.ExitStack() as stack:
        with _broken_archives(path):
            if gzipped or start.startswith(_GZIP_MAGIC):
                unpacked = stack.enter_context(gzip.open(path, "rb"))
                stream: BinaryIO = stack.enter_context(io.BufferedReader(cast(io.RawIOBase, unpacked), _BUFFER))
            else:
                stream = stack.enter_context(path.open("rb", buffering=_BUFFER))
        yield _lines(stream, path)


@contextlib.contextmanager
def open_members(
    path: Path, source_member: str | None, target_member: str | None
) -> Iterator[dict[str, Iterator[bytes]]]:
    """Yield the English and the Persian member of a zip, in this order: what to call them, and their lines as bytes.

    Raises:
        CorpusError: the archive is damaged, a member is encrypted, or the members cannot be told.
        StorageError: the file may not be read.
    """
    with contextlib.ExitStack() as stack:
        members: dict[str, Iterator[bytes]] = {}
        with _broken_archives(path):
            archive = stack.enter_context(zipfile.ZipFile(path))
            names = [member.filename for member in archive.infolist() if not member.is_dir()]
            for name in choose_members(path, names, source_member, target_member):
                if archive.getinfo(name).flag_bits & 0x1:
                    raise CorpusError(
                        f"{path}: the member `{name}` is encrypted; unpack it and pack it without a password"
                    )
                unpacked = stack.enter_context(archive.open(name))
                stream = stack.enter_context(io.BufferedReader(cast(io.RawIOBase, unpacked), _BUFFER))
                members[f"{path}, member {name}"] = _lines(stream, path)
        yield members


def choose_members(
    path: Path, names: Sequence[str], source_member: str | None, target_member: str | None
) -> tuple[str, str]:
    """Return the names of the English and the Persian member among `names`.

    Given names are matched whole, else without case, else by their last part in any folder. Without given names, a pair
    like `en.txt` and `fa.txt`, `mizan_en.txt` and `mizan_fa.txt`, or `NAME.en-fa.en` and `NAME.en-fa.fa` is recognised.

    Raises:
        CorpusError: no member fits, or several do; the message lists the members.
    """
    if source_member is not None and target_member is not None:
        chosen = _find_member(path, names, source_member), _find_member(path, names, target_member)
        if chosen[0] == chosen[1]:
            raise CorpusError(f"{path}: `source_member` and `target_member` are the same member, {chosen[0]}")
        return chosen
    by_lower: dict[str, list[str]] = {}
    for name in names:
        by_lower.setdefault(name.lower(), []).append(name)
    pairs: list[tuple[str, str]] = []
    for name in names:
        folder, _, base = name.rpartition("/")
        match = _ENGLISH_MEMBER.fullmatch(base)
        if match is None or base.startswith("._"):  # ._ is what macOS adds of its own
            continue
        other = f"{folder}/" if folder else ""
        other += f"{match['stem']}fa{match['extension'] or ''}"
        pairs += [(name, found) for found in by_lower.get(other.lower(), ())]
    if len(pairs) == 1:
        return pairs[0]
    problem = "holds several pairs of texts" if pairs else "holds no pair of members like en.txt and fa.txt"
    raise CorpusError(
        f"{path} {problem}; name the right ones with `source_member` and `target_member`. Members: {_listing(names)}"
    )


def _find_member(path: Path, names: Sequence[str], wanted: str) -> str:
    lower = wanted.lower()
    for found in (
        [name for name in names if name == wanted],
        [name for name in names if name.lower() == lower],
        [name for name in names if name.lower().rpartition("/")[2] == lower],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            raise CorpusError(
                f"{path} has several members called `{wanted}`; give one with its folder: {_listing(found)}"
            )
    raise CorpusError(f"{path} has no member `{wanted}`. Members: {_listing(names)}")


def _listing(names: Sequence[str]) -> str:
    if not names:
        return "none (the archive is empty)"
    more = f" and {len(names) - _LISTED_MEMBERS} more" if len(names) > _LISTED_MEMBERS else ""
    return ", ".join(names[:_LISTED_MEMBERS]) + more
