"""Members of a zip archive as blocks of bytes, after the archive as a whole has been found harmless."""

import contextlib
import re
import stat
import zipfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

from translator.corpus.sources.compression import (
    BLOCK,
    damaged_files,
    first_bytes,
    kind_of,
    largest_unpacked,
    refuse_to_unpack,
    text_blocks,
)
from translator.corpus.sources.members import choose_members, shown
from translator.errors import CorpusError

_STEPS: Final = {
    zipfile.ZIP_STORED: BLOCK,
    zipfile.ZIP_DEFLATED: BLOCK,
    zipfile.ZIP_BZIP2: 1 << 12,
    zipfile.ZIP_LZMA: 1 << 12,
}
"""Ways of packing, and bytes asked for at a time; of the last two, zipfile unpacks as many packed bytes at once."""

_DRIVE: Final = re.compile(r"[A-Za-z]:")
_ENCRYPTED: Final = 0x1


def is_zip(path: Path) -> bool:
    """Say whether `path` is meant as a zip archive, by its first bytes or its name."""
    return path.suffix.lower() == ".zip" or kind_of(first_bytes(path)) == "zip archive"


@contextlib.contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Yield the zip archive at `path`, none of whose members leads out of it.

    Raises:
        CorpusError: the archive is damaged, or a member has a hostile name or is a link or a device.
        StorageError: the file may not be read.
    """
    with contextlib.ExitStack() as stack:
        with _damaged_archive(path):
            archive = stack.enter_context(zipfile.ZipFile(path))
        for member in archive.infolist():
            _refuse_hostile(path, member)
        yield archive


def chosen_members(
    path: Path, archive: zipfile.ZipFile, source_member: str | None, target_member: str | None
) -> tuple[zipfile.ZipInfo, zipfile.ZipInfo]:
    """Return the English and the Persian member of an open archive.

    Raises:
        CorpusError: they cannot be told, or one is encrypted, packed in an unknown way, or absurdly large.
    """
    names = [member.filename for member in archive.infolist() if not member.is_dir()]
    english, persian = map(archive.getinfo, choose_members(path, names, source_member, target_member))
    for member in (english, persian):
        named = f"{path}: the member `{shown(member.filename)}`"
        if member.flag_bits & _ENCRYPTED:
            raise CorpusError(f"{named} is encrypted; unpack it and pack it without a password")
        if member.compress_type not in _STEPS:
            raise CorpusError(
                f"{named} cannot be unpacked (its way of packing, {member.compress_type}, is not known); "
                "pack it again with deflate"
            )
        if member.file_size > largest_unpacked(_packed_size(path, member)):
            raise refuse_to_unpack(named, _packed_size(path, member))
    return english, persian


def member_blocks(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Generator[bytes, None, None]:
    """Yield the text of a member in blocks.

    Raises:
        CorpusError: the member is damaged, or itself packed.
    """
    with _damaged_archive(path):
        yield from text_blocks(_pieces(archive, member), member_label(path, member), _packed_size(path, member))


def member_label(path: Path, member: zipfile.ZipInfo) -> str:
    """Return what a person is told that a member is called."""
    return f"{path}, member {shown(member.filename)}"


@contextlib.contextmanager
def _damaged_archive(path: Path) -> Iterator[None]:
    """Do as `damaged_files` does, and take in what zipfile raises about nonsense in names and numbers."""
    with damaged_files(path):
        try:
            yield
        except (ValueError, IndexError, OverflowError) as error:
            raise CorpusError(f"{path} is damaged ({error}); get the file again") from error


def _pieces(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    step = _STEPS[member.compress_type]
    with archive.open(member) as stream:
        while piece := stream.read(step):
            yield piece


def _packed_size(path: Path, member: zipfile.ZipInfo) -> int:
    """Return the packed bytes of a member, which cannot be more than there are, whatever the archive claims."""
    return min(member.compress_size, path.stat().st_size)


def _refuse_hostile(path: Path, member: zipfile.ZipInfo) -> None:
    name = member.orig_filename
    kind = stat.S_IFMT(member.external_attr >> 16)
    reason = ""
    if ".." in name.split("/"):
        reason = "leads out of the archive"
    elif name.startswith("/") or _DRIVE.match(name):
        reason = "has an absolute path"
    elif "\\" in name or "\0" in name:
        reason = "has a name that is not portable (with a backslash or a zero byte)"
    elif kind == stat.S_IFLNK:
        reason = "is a symbolic link"
    elif kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        reason = "is no plain file"
    if reason:
        raise CorpusError(
            f"{path} is refused: the member `{shown(name)}` {reason}; get it again from a place that you trust, "
            "or pack just the text files anew"
        )
