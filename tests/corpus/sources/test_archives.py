"""Zip archives: whole, damaged, hostile."""

import gzip
import lzma
import random
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from corpus.sources.corpora import ENGLISH, PACKERS, PAIRS, PERSIAN, complaint, zip_file

from translator.config import SourceConfig
from translator.corpus.sources import read_pairs
from translator.errors import TranslatorError

MEMBERS = {"en.txt": ENGLISH, "fa.txt": PERSIAN}


def patched(path: Path, *changes: tuple[bytes, int, bytes], members: dict[str, bytes] = MEMBERS) -> SourceConfig:
    """Write a zip and overwrite bytes at an offset from the first place where a signature stands."""
    source = zip_file(path, members)
    content = bytearray(path.read_bytes())
    for signature, offset, new in changes:
        place = content.index(signature) + offset
        content[place : place + len(new)] = new
    path.write_bytes(bytes(content))
    return source


def test_members_are_recognised(tmp_path: Path) -> None:
    members = {"README": b"", "mizan/mizan_en.txt": ENGLISH, "mizan/mizan_fa.txt": PERSIAN}
    assert list(read_pairs(zip_file(tmp_path / "text.zip", members))) == PAIRS


def test_given_members_and_any_name(tmp_path: Path) -> None:
    members = {"a": ENGLISH, "b": PERSIAN, "en.txt": b"", "fa.txt": b""}
    source = zip_file(tmp_path / "text", members, source_member="a", target_member="b")
    assert list(read_pairs(source)) == PAIRS


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_ways_of_packing(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "text.zip", "w", method) as archive:
        for name, content in MEMBERS.items():
            archive.writestr(name, content * 20_000)
    pairs = list(read_pairs(SourceConfig(name="text", path=str(tmp_path / "text.zip"))))
    assert [pair[1:] for pair in pairs] == [pair[1:] for pair in PAIRS] * 20_000


def test_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "text.zip"
    source = zip_file(path, {"en.txt": ENGLISH * 50, "fa.txt": PERSIAN * 50})
    path.write_bytes(path.read_bytes()[:-40])
    assert f"{path} is damaged or was cut off (File is not a zip file)" in complaint(source)


def test_wrong_byte(tmp_path: Path) -> None:
    path = tmp_path / "text.zip"
    members = {"en.txt": bytes(range(32, 127)) * 50, "fa.txt": PERSIAN}
    assert f"{path} is damaged or was cut off" in complaint(patched(path, (b"en.txt", 20, b"\xff"), members=members))


def test_damaged_bzip2_member(tmp_path: Path) -> None:
    path = tmp_path / "text.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("en.txt", ENGLISH)
        archive.writestr("fa.txt", PERSIAN)
    content = bytearray(path.read_bytes())
    content[content.index(b"BZh") + 4] ^= 0xFF
    path.write_bytes(bytes(content))
    assert f"{path} is damaged (Invalid data stream)" in complaint(SourceConfig(name="text", path=str(path)))


def test_no_wrong_byte_is_a_bug(tmp_path: Path) -> None:
    """Whatever bytes are wrong, the corpus is read or the person is told; nothing else escapes."""
    path = tmp_path / "متن.zip"
    source = zip_file(path, {"متن_en.txt": ENGLISH, "متن_fa.txt": PERSIAN})
    content = path.read_bytes()
    chooser = random.Random(1)
    changes = [[(place, content[place] ^ 0xA5)] for place in range(len(content))]
    changes += [[(chooser.randrange(len(content)), chooser.randrange(256)) for _ in range(3)] for _ in range(500)]
    told = 0
    for change in changes:
        wrong = bytearray(content)
        for place, byte in change:
            wrong[place] = byte
        path.write_bytes(bytes(wrong))
        try:
            list(read_pairs(source))
        except TranslatorError as error:
            told += 1
            assert path.name in str(error)
    assert told > 500


def test_encrypted(tmp_path: Path) -> None:
    source = patched(tmp_path / "text.zip", (b"PK\x03\x04", 6, b"\1"), (b"PK\x01\x02", 8, b"\1"))
    assert "the member `en.txt` is encrypted; unpack it" in complaint(source)


def test_packed_in_an_unknown_way(tmp_path: Path) -> None:
    source = patched(tmp_path / "text.zip", (b"PK\x03\x04", 8, b"\x09"), (b"PK\x01\x02", 10, b"\x09"))
    message = complaint(source)
    assert "text.zip: the member `en.txt` cannot be unpacked (its way of packing, 9, is not known)" in message
    assert "deflate" in message


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../note", "leads out of the archive"),
        ("a/../../note", "leads out of the archive"),
        ("..", "leads out of the archive"),
        ("/etc/note", "has an absolute path"),
        ("C:/note", "has an absolute path"),
        ("c:note", "has an absolute path"),
        ("a\\note", "has a name that is not portable"),
        ("..\\..\\note", "has a name that is not portable"),
        ("x\nnote", ""),
    ],
)
def test_names_that_lead_elsewhere(tmp_path: Path, name: str, reason: str) -> None:
    source = zip_file(tmp_path / "text.zip", {**MEMBERS, name: b"x"})
    if reason:
        assert f"text.zip is refused: the member `{name}` {reason}" in complaint(source)
    else:
        assert list(read_pairs(source)) == PAIRS


def test_zero_byte_in_a_name(tmp_path: Path) -> None:
    source = patched(
        tmp_path / "text.zip", (b"PK\x01\x02", 46, b"fa.txt\0"), (b"PK\x03\x04", 30, b"fa.txt\0"),
        members={"fa.txt_": ENGLISH, **MEMBERS},
    )  # fmt: skip
    assert r"the member `'fa.txt\x00'` has a name that is not portable" in complaint(source)


@pytest.mark.parametrize(("kind", "reason"), [(stat.S_IFLNK, "a symbolic link"), (stat.S_IFIFO, "no plain file")])
@pytest.mark.parametrize("name", ["en.txt", "elsewhere"])
def test_links_and_devices(tmp_path: Path, kind: int, reason: str, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "text.zip", "w") as archive:
        for other, content in MEMBERS.items():
            if other != name:
                archive.writestr(other, content)
        member = zipfile.ZipInfo(name)
        member.external_attr = (kind | 0o644) << 16
        archive.writestr(member, "/etc/passwd")
    source = SourceConfig(name="text", path=str(tmp_path / "text.zip"))
    assert f"text.zip is refused: the member `{name}` is {reason}; get it again" in complaint(source)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.compress, lambda _: b"PK\3\4"])
def test_archives_inside(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    source = zip_file(tmp_path / "text.zip", {"en.txt": pack(ENGLISH), "fa.txt": PERSIAN})
    message = complaint(source)
    assert "text.zip, member en.txt holds a" in message
    assert "packed twice" in message


def test_compressed_members_are_listed(tmp_path: Path) -> None:
    members = {f"{name}{suffix}": b"" for name in MEMBERS for suffix in PACKERS if suffix}
    assert "Members: en.txt.gz, en.txt.xz" in complaint(zip_file(tmp_path / "text.zip", members))


def test_declared_size_that_is_absurd(tmp_path: Path) -> None:
    """Told before anything is unpacked, whatever the archive says about its packed bytes."""
    size = struct.pack("<I", 2_000_000_000)
    source = patched(tmp_path / "text.zip", (b"PK\x01\x02", 24, size))
    assert "text.zip: the member `en.txt` unpacks to more than 67,108,864 bytes from" in complaint(source)
    source = patched(tmp_path / "text.zip", (b"PK\x01\x02", 20, size + size))
    assert "text.zip: the member `en.txt` unpacks to more than 67,108,864 bytes from" in complaint(source)


def test_more_comes_out_than_was_declared(tmp_path: Path) -> None:
    members = {"en.txt": b"x\n" * 100_000, "fa.txt": b"y\n" * 100_000}
    source = patched(tmp_path / "text.zip", (b"PK\x01\x02", 24, struct.pack("<I", 1000)), members=members)
    assert "text.zip is damaged or was cut off (Bad CRC-32 for file 'en.txt')" in complaint(source)


def test_file_of_another_kind_called_zip(tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_bytes(b"not a zip")
    source = SourceConfig(name="text", path=str(tmp_path / "text.zip"))
    assert "text.zip is damaged or was cut off (File is not a zip file)" in complaint(source)
