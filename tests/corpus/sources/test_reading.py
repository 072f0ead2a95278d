"""Reading pairs in place, from every layout, with every defect told by file and line."""

import gzip
import itertools
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import SourceConfig
from translator.corpus.sources import Pair, read_pairs, source_files
from translator.errors import CorpusError, StorageError, TranslatorError

DATA = Path("../shared/data")
PAIRS = [Pair(1, "One.", "یک."), Pair(2, "Two.", "دو."), Pair(3, "Three.", "سه.")]
ENGLISH, PERSIAN = b"One.\nTwo.\nThree.\n", "یک.\nدو.\nسه.\n".encode()


def two_files(folder: Path, english: bytes = ENGLISH, persian: bytes = PERSIAN, suffix: str = "") -> SourceConfig:
    paths = folder / f"text.en{suffix}", folder / f"text.fa{suffix}"
    for path, content in zip(paths, (english, persian), strict=True):
        path.write_bytes(content)
    return SourceConfig(name="text", source_path=str(paths[0]), target_path=str(paths[1]))


def one_file(path: Path, content: bytes, **settings: object) -> SourceConfig:
    path.write_bytes(content)
    return SourceConfig.model_validate({"name": "text", "path": str(path), **settings})


def zip_file(path: Path, members: dict[str, bytes], **settings: object) -> SourceConfig:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return SourceConfig.model_validate({"name": "text", "path": str(path), **settings})


def complaint(source: SourceConfig) -> str:
    with pytest.raises(CorpusError) as caught:
        list(read_pairs(source))
    return str(caught.value)


def test_plain_files(tmp_path: Path) -> None:
    assert list(read_pairs(two_files(tmp_path))) == PAIRS


@pytest.mark.parametrize("suffix", [".gz", ".packed"])
def test_gzip_files_under_any_name(tmp_path: Path, suffix: str) -> None:
    source = two_files(tmp_path, gzip.compress(ENGLISH), gzip.compress(PERSIAN), suffix)
    assert list(read_pairs(source)) == PAIRS


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_table(tmp_path: Path, pack: type[bytes]) -> None:
    content = "One.\tیک.\nTwo.\tدو.\r\nThree.\tسه.".encode()
    assert list(read_pairs(one_file(tmp_path / "text.tsv", pack(content)))) == PAIRS


def test_zip(tmp_path: Path) -> None:
    members = {"README": b"", "mizan/mizan_en.txt": ENGLISH, "mizan/mizan_fa.txt": PERSIAN}
    assert list(read_pairs(zip_file(tmp_path / "text.zip", members))) == PAIRS


def test_zip_with_given_members_and_any_name(tmp_path: Path) -> None:
    members = {"a": ENGLISH, "b": PERSIAN, "en.txt": b"", "fa.txt": b""}
    source = zip_file(tmp_path / "text", members, source_member="a", target_member="b")
    assert list(read_pairs(source)) == PAIRS


def test_max_pairs_reads_only_the_beginning(tmp_path: Path) -> None:
    source = two_files(tmp_path, ENGLISH + b"\xff\n")
    assert list(read_pairs(source.model_copy(update={"max_pairs": 2}))) == PAIRS[:2]


def test_byte_order_mark_and_carriage_returns_are_no_text(tmp_path: Path) -> None:
    source = two_files(tmp_path, b"\xef\xbb\xbfOne.\r\nTwo.\r\nThree.", PERSIAN)
    assert list(read_pairs(source)) == PAIRS


def test_only_newlines_end_a_line(tmp_path: Path) -> None:
    odd = "a\u2028b\u0085c\x0bd\x0ce\x1cf\rg"
    source = two_files(tmp_path, f"{odd}\nx\r\r\n".encode(), "یک\nدو".encode())
    assert [pair.source for pair in read_pairs(source)] == [odd, "x\r"]


LINES = st.lists(st.text(st.characters(exclude_characters="\n\t", exclude_categories=["Cs"])), min_size=1, max_size=5)


@settings(deadline=None)
@given(LINES, st.data())
def test_any_text_survives(english: list[str], data: st.DataObject) -> None:
    english = [text.removesuffix("\r") for text in english]
    english[0] = english[0].removeprefix("\ufeff")
    persian = [text.removesuffix("\r") for text in data.draw(st.permutations(english))]
    persian[0] = persian[0].removeprefix("\ufeff")
    english[0] = english[0] or "x"
    lines = [f"{one}\t{other}\n" for one, other in zip(english, persian, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        table = one_file(Path(folder) / "text.tsv", "".join(lines).encode())
        files = two_files(
            Path(folder), "".join(f"{t}\n" for t in english).encode(), "".join(f"{t}\n" for t in persian).encode()
        )
        expected = [Pair(*row) for row in zip(itertools.count(1), english, persian, strict=False)]
        assert list(read_pairs(table)) == list(read_pairs(files)) == expected


@pytest.mark.parametrize(("english", "persian", "counts"), [(5, 3, ("5", "3")), (3, 1200, ("3", "1,200"))])
def test_sides_of_different_length(tmp_path: Path, english: int, persian: int, counts: tuple[str, str]) -> None:
    message = complaint(two_files(tmp_path, b"x\n" * english, b"y\n" * persian))
    assert f"text.en has {counts[0]} lines" in message
    assert f"text.fa has {counts[1]};" in message
    assert "`text`" in message


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    message = complaint(two_files(tmp_path, b"One.\nTwo\xe9.\nThree.\n"))
    assert "text.en, line 2: not UTF-8" in message
    assert "0xe9 at byte offset 8 " in message
    assert "convert" in message


def test_byte_offset_counts_the_byte_order_mark(tmp_path: Path) -> None:
    assert "line 1: not UTF-8 (byte 0xff at byte offset 4 " in complaint(two_files(tmp_path, b"\xef\xbb\xbfO\xff\n"))


@pytest.mark.parametrize(("line", "count"), [("no tab", "1 column "), ("a\tb\tc", "3 columns "), ("", "1 column ")])
def test_table_with_wrong_columns(tmp_path: Path, line: str, count: str) -> None:
    message = complaint(one_file(tmp_path / "text.tsv", f"One.\tیک.\n{line}\n".encode()))
    assert f"text.tsv, line 2: {count}" in message
    assert "source_path" in message


def test_missing_file_says_how_to_get_it(tmp_path: Path) -> None:
    missing = SourceConfig(name="mizan", path=str(tmp_path / "mizan.zip"), obtain="Get it from the shelf.")
    message = complaint(missing)
    assert f"`mizan`: {tmp_path / 'mizan.zip'} does not exist. Get it from the shelf." in message
    assert "check the path" in complaint(missing.model_copy(update={"obtain": None}))


def test_folder_instead_of_a_file(tmp_path: Path) -> None:
    assert "is a folder; give a file" in complaint(SourceConfig(name="text", path=str(tmp_path)))


def test_one_file_for_both_sides(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(ENGLISH)
    source = SourceConfig(name="text", source_path=str(tmp_path / "x"), target_path=str(tmp_path / "x"))
    assert "both sides are the same file" in complaint(source)


def test_empty_corpus(tmp_path: Path) -> None:
    assert "there is no line in" in complaint(two_files(tmp_path, b"", b""))
    assert "there is no line in" in complaint(one_file(tmp_path / "text.tsv", b""))
    assert "there is no line in" in complaint(zip_file(tmp_path / "text.zip", {"en.txt": b"", "fa.txt": b""}))


@pytest.mark.parametrize("keep", [0, 10, 40])
def test_gzip_that_was_cut_off(tmp_path: Path, keep: int) -> None:
    packed = gzip.compress(ENGLISH * 50)[:keep]
    message = complaint(two_files(tmp_path, packed, gzip.compress(PERSIAN * 50), ".gz"))
    assert "text.en.gz is damaged or was cut off" in message


def test_gzip_with_a_wrong_byte(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(bytes(range(32, 127)) * 50))
    packed[-6] ^= 0xFF
    message = complaint(one_file(tmp_path / "text.tsv.gz", bytes(packed)))
    assert "text.tsv.gz is damaged or was cut off (CRC check failed" in message


def test_file_called_gzip_that_is_not(tmp_path: Path) -> None:
    assert "text.en.gz is damaged" in complaint(two_files(tmp_path, ENGLISH, PERSIAN, ".gz"))


def test_zip_that_was_cut_off(tmp_path: Path) -> None:
    source = zip_file(tmp_path / "text.zip", {"en.txt": ENGLISH * 50, "fa.txt": PERSIAN * 50})
    path = tmp_path / "text.zip"
    path.write_bytes(path.read_bytes()[:-40])
    assert f"{path} is damaged or was cut off (File is not a zip file)" in complaint(source)


def test_zip_with_a_wrong_byte(tmp_path: Path) -> None:
    path = tmp_path / "text.zip"
    source = zip_file(path, {"en.txt": bytes(range(32, 127)) * 50, "fa.txt": PERSIAN})
    content = bytearray(path.read_bytes())
    content[60] ^= 0xFF
    path.write_bytes(bytes(content))
    assert f"{path} is damaged or was cut off" in complaint(source)


def test_encrypted_zip(tmp_path: Path) -> None:
    path = tmp_path / "text.zip"
    source = zip_file(path, {"en.txt": ENGLISH, "fa.txt": PERSIAN})
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(bytes(content))
    assert "the member `en.txt` is encrypted; unpack it" in complaint(source)


def test_zip_packed_in_an_unknown_way(tmp_path: Path) -> None:
    path = tmp_path / "text.zip"
    source = zip_file(path, {"en.txt": ENGLISH, "fa.txt": PERSIAN})
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        content[content.index(signature) + offset] = 9
    path.write_bytes(bytes(content))
    message = complaint(source)
    assert f"{path} cannot be unpacked (That compression method is not supported)" in message
    assert "deflate" in message


def test_damaged_bzip2_member(tmp_path: Path) -> None:
    path = tmp_path / "text.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("en.txt", ENGLISH)
        archive.writestr("fa.txt", PERSIAN)
    content = bytearray(path.read_bytes())
    content[content.index(b"BZh") + 4] ^= 0xFF
    path.write_bytes(bytes(content))
    assert f"{path} is damaged (Invalid data stream)" in complaint(SourceConfig(name="text", path=str(path)))


@pytest.mark.parametrize("packed", ["text.zip", "text.tsv.gz", "text.tsv"])
def test_no_wrong_byte_is_a_bug(tmp_path: Path, packed: str) -> None:
    """Whatever single byte is wrong, the corpus is read or the person is told; nothing else escapes."""
    path = tmp_path / packed
    table = "".join(f"{pair.source}\t{pair.target}\n" for pair in PAIRS).encode()
    if packed == "text.zip":
        source = zip_file(path, {"en.txt": ENGLISH, "fa.txt": PERSIAN})
    else:
        source = one_file(path, gzip.compress(table) if packed.endswith(".gz") else table)
    content = path.read_bytes()
    told = 0
    for position in range(len(content)):
        path.write_bytes(content[:position] + bytes([content[position] ^ 0xA5]) + content[position + 1 :])
        try:
            list(read_pairs(source))
        except TranslatorError as error:
            told += 1
            assert packed in str(error)
    assert told


def test_zip_given_as_one_side(tmp_path: Path) -> None:
    archive = zip_file(tmp_path / "text.zip", {"en.txt": ENGLISH, "fa.txt": PERSIAN})
    (tmp_path / "fa").write_bytes(PERSIAN)
    source = SourceConfig(name="text", source_path=archive.path, target_path=str(tmp_path / "fa"))
    assert "text.zip is a zip archive; give it as `path`" in complaint(source)


def test_members_of_what_is_no_zip(tmp_path: Path) -> None:
    source = one_file(tmp_path / "text.tsv", b"a\tb\n", source_member="en", target_member="fa")
    assert "text.tsv is not a zip archive" in complaint(source)


def test_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = one_file(tmp_path / "text.tsv", b"a\tb\n")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(StorageError, match=r"cannot read .*text\.tsv: permission denied"):
        list(read_pairs(source))


def test_source_files(tmp_path: Path) -> None:
    source = two_files(tmp_path)
    assert source_files(source) == [tmp_path / "text.en", tmp_path / "text.fa"]


@pytest.mark.skipif(not DATA.is_dir(), reason="the real corpora are not in ../shared/data")
@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({"path": "mizan.zip"}, 17_200),
        ({"path": "tatoeba.zip"}, 7_861),
        ({"path": "bible.en-fa.zip"}, 31_099),
        ({"path": "docs.tsv.gz"}, 22_312),
        ({"source_path": "afec.en.gz", "target_path": "afec.fa.gz"}, 30_000),
    ],
)
def test_real_corpora_are_read_whole(settings: dict[str, str], count: int) -> None:
    paths = {key: str(DATA / name) for key, name in settings.items()}
    assert sum(1 for _ in read_pairs(SourceConfig.model_validate({"name": "real", **paths}))) == count
