"""Archives from the net are not trusted."""

import contextlib
import gzip
import random
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from corpus.download.file_server import TEXTS, good_members, tar_bytes, zip_bytes

from translator.corpus.download import unpack
from translator.corpus.download.unpack import check_zip, read_texts
from translator.errors import CorpusError


def archive(folder: Path, content: bytes) -> Path:
    path = folder / "corpus.tar.gz"
    path.write_bytes(content)
    return path


def refusal(folder: Path, *extra: tuple[tarfile.TarInfo, bytes]) -> str:
    path = archive(folder, tar_bytes([*good_members(), *extra]))
    with pytest.raises(CorpusError) as caught:
        read_texts(path, TEXTS)
    assert [file.name for file in folder.iterdir()] == ["corpus.tar.gz"]
    return str(caught.value)


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", size: int = 0) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, target, size
    return made


def test_the_asked_members_alone_are_read(tmp_path: Path) -> None:
    assert read_texts(archive(tmp_path, tar_bytes(good_members())), TEXTS) == TEXTS


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "./../x", "..", "a\\..\\..\\x", "\\x"])
def test_names_that_lead_out(tmp_path: Path, name: str) -> None:
    assert "leads out of the archive" in refusal(tmp_path, (member(name), b"x"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
@pytest.mark.parametrize("target", ["/etc/passwd", "../../../etc/passwd"])
def test_links_that_lead_out(tmp_path: Path, kind: bytes, target: str) -> None:
    assert "leads out of the archive" in refusal(tmp_path, (member("flores/link", kind, target), b""))


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices(tmp_path: Path, kind: bytes) -> None:
    assert "member dev is a device or a pipe" in refusal(tmp_path, (member("dev", kind), b""))


def test_links_inside_are_no_harm_where_they_are_not_asked_for(tmp_path: Path) -> None:
    link = member("flores/link", tarfile.SYMTYPE, "dev/eng_Latn.dev")
    assert read_texts(archive(tmp_path, tar_bytes([*good_members(), (link, b"")])), TEXTS) == TEXTS


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE])
def test_an_asked_member_is_a_plain_file(tmp_path: Path, kind: bytes) -> None:
    made = member("flores/dev/eng_Latn.dev", kind, "flores/other")
    path = archive(tmp_path, tar_bytes([(made, b""), *good_members()]))
    with pytest.raises(CorpusError, match="is not a plain file"):
        read_texts(path, TEXTS)


def test_a_member_that_is_there_twice(tmp_path: Path) -> None:
    assert "several members dev/eng_Latn.dev" in refusal(tmp_path, (member("other/dev/eng_Latn.dev"), b"x"))


def test_a_missing_member(tmp_path: Path) -> None:
    path = archive(tmp_path, tar_bytes(good_members()[1:]))
    with pytest.raises(CorpusError, match=r"has no member dev/eng_Latn\.dev; it is not the right archive"):
        read_texts(path, TEXTS)


def test_control_characters_of_a_name_reach_no_terminal(tmp_path: Path) -> None:
    assert "member ../?[2Jx leads" in refusal(tmp_path, (member("../\x1b[2Jx"), b""))


def test_a_text_of_absurd_size(tmp_path: Path) -> None:
    huge = member("flores/dev/eng_Latn.dev", size=40 << 20)
    path = archive(tmp_path, gzip.compress(huge.tobuf() + bytes(41 << 20), compresslevel=1))
    tracemalloc.start()
    with pytest.raises(CorpusError, match="has 41,943,040 bytes; at most 33,554,432 are accepted"):
        read_texts(path, TEXTS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 << 20


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_small_file_that_unpacks_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: bytes) -> None:
    monkeypatch.setattr(unpack, "_LARGEST_TAR", 1 << 20)
    path = archive(
        tmp_path, gzip.compress(member("big", kind, size=1 << 32).tobuf(tarfile.GNU_FORMAT) + bytes(4 << 20))
    )
    with pytest.raises(CorpusError, match="unpacks to more than 1,048,576 bytes"):
        read_texts(path, TEXTS)


def test_members_without_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "_MOST_MEMBERS", 3)
    assert "more than 3 members" in refusal(tmp_path, (member("a"), b"x"))


def test_no_cut_and_no_flipped_byte_gives_a_traceback_or_other_texts(tmp_path: Path) -> None:
    whole, generator = tar_bytes(good_members()), random.Random(1)
    for _ in range(300):
        broken = bytearray(whole)
        broken[generator.randrange(len(broken))] ^= 1 << generator.randrange(8)
        for content in (bytes(broken), whole[: generator.randrange(len(whole))]):
            try:
                assert read_texts(archive(tmp_path, content), TEXTS) == TEXTS
            except CorpusError:
                continue


def test_no_damage_to_the_headers_gives_a_traceback(tmp_path: Path) -> None:
    plain, packed, generator = gzip.decompress(tar_bytes(good_members())), zip_bytes(members=["پ.en"]), random.Random(1)
    sparse = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    strange = tarfile.TarInfo("x/dev/eng_Latn.dev")
    strange.pax_headers = sparse
    for _ in range(300):
        broken = bytearray(plain[:2048])
        broken[generator.randrange(len(broken))] = generator.randrange(256)
        directory = bytearray(packed)
        directory[-1 - generator.randrange(80)] = generator.randrange(256)
        (tmp_path / "corpus.zip").write_bytes(directory)
        with contextlib.suppress(CorpusError):
            read_texts(archive(tmp_path, gzip.compress(broken + plain[2048:], compresslevel=1)), TEXTS)
        with contextlib.suppress(CorpusError):
            check_zip(tmp_path / "corpus.zip", ["پ.en"])
    with pytest.raises(CorpusError, match="is damaged or was cut off"):
        read_texts(archive(tmp_path, tar_bytes([(strange, b"A book")])), TEXTS)


CHANGES: list[Callable[[bytes], bytes]] = [
    lambda whole: whole[:-1],
    lambda whole: whole[: len(whole) // 2],
    lambda whole: b"",
    lambda whole: b"<html>" * 100,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_zip_without_its_end(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "corpus.zip"
    path.write_bytes(change(zip_bytes()))
    with pytest.raises(CorpusError, match="is damaged or was cut off"):
        check_zip(path, ["T.en-fa.en"])
