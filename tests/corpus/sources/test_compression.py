"""Bytes of plain and packed files, whole, cut off, damaged, hostile."""

import bz2
import gzip
import io
import lzma
import tarfile
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from corpus.sources.corpora import ENGLISH, PACKERS, PAIRS, PERSIAN, TABLE, complaint, one_file, two_files
from hypothesis import given
from hypothesis import strategies as st

from translator.corpus.sources import read_pairs
from translator.corpus.sources.compression import BLOCK, file_blocks, text_blocks
from translator.errors import CorpusError, TranslatorError

PACKED = [suffix for suffix in PACKERS if suffix]
SKIPPABLE = b"\x5a\x2a\x4d\x18\x04\0\0\0note"


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("named", ["", ".packed", ".gz", ".XZ"])
def test_packing_is_known_by_first_bytes_whatever_the_name(tmp_path: Path, suffix: str, named: str) -> None:
    pack = PACKERS[suffix]
    assert list(read_pairs(two_files(tmp_path, pack(ENGLISH), pack(PERSIAN), named))) == PAIRS


def test_sides_may_be_packed_differently(tmp_path: Path) -> None:
    assert list(read_pairs(two_files(tmp_path, lzma.compress(ENGLISH), zstandard.compress(PERSIAN)))) == PAIRS


@pytest.mark.parametrize("suffix", PACKED)
def test_several_frames_are_one_text(tmp_path: Path, suffix: str) -> None:
    pack = PACKERS[suffix]
    halves = pack(TABLE[:7]) + pack(b"") + pack(TABLE[7:])
    assert list(read_pairs(one_file(tmp_path / "text", halves))) == PAIRS


def test_zstd_frames_to_be_skipped(tmp_path: Path) -> None:
    content = SKIPPABLE + zstandard.compress(TABLE) + SKIPPABLE
    assert list(read_pairs(one_file(tmp_path / "text", content))) == PAIRS


def test_padding_after_a_frame(tmp_path: Path) -> None:
    for suffix in (".gz", ".xz"):
        assert list(read_pairs(one_file(tmp_path / "text", PACKERS[suffix](TABLE) + bytes(8)))) == PAIRS


@pytest.mark.parametrize("suffix", PACKED)
def test_cut_off_anywhere(tmp_path: Path, suffix: str) -> None:
    packed = PACKERS[suffix](TABLE * 3)
    for keep in range(len(packed)):
        message = complaint(one_file(tmp_path / f"text.tsv{suffix}", packed[:keep]))
        assert message.startswith(f"{tmp_path / 'text.tsv'}{suffix} is damaged or was cut off (")


@pytest.mark.parametrize("suffix", PACKED)
def test_second_frame_cut_off(tmp_path: Path, suffix: str) -> None:
    packed = PACKERS[suffix](TABLE)
    for second in (packed[:-1], packed[:7], b"x"):
        assert "is damaged or was cut off" in complaint(one_file(tmp_path / "text", packed + second))


@pytest.mark.parametrize("suffix", PACKED)
def test_called_packed_but_is_not(tmp_path: Path, suffix: str) -> None:
    for content in (TABLE, b""):
        message = complaint(one_file(tmp_path / f"text.tsv{suffix}", content))
        assert f"text.tsv{suffix} is damaged or was cut off" in message


@pytest.mark.parametrize("suffix", list(PACKERS))
def test_no_wrong_byte_is_a_bug(tmp_path: Path, suffix: str) -> None:
    """Whatever single byte is wrong, the corpus is read or the person is told; nothing else escapes."""
    path = tmp_path / f"text.tsv{suffix}"
    content = PACKERS[suffix](TABLE)
    told = 0
    for position in range(len(content)):
        source = one_file(path, content[:position] + bytes([content[position] ^ 0xA5]) + content[position + 1 :])
        try:
            list(read_pairs(source))
        except TranslatorError as error:
            told += 1
            assert path.name in str(error)
    assert told


@pytest.mark.parametrize("suffix", PACKED)
def test_what_unpacks_to_absurdly_much(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.corpus.sources.compression._LARGEST_SMALL_FILE", 1 << 20)
    path = tmp_path / "text.tsv"
    path.write_bytes(PACKERS[suffix](b"a\tb\n" * 100_000))
    assert sum(len(block) for block in file_blocks(path)) == 400_000
    path.write_bytes(PACKERS[suffix](b"a\tb\n" * 10_000_000))
    seen, size = 0, path.stat().st_size
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError, match=rf"text\.tsv unpacks to more than [\d,]+ bytes from {size:,}, which no"):
            for block in file_blocks(path):
                seen += len(block)
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()
    assert seen <= max(1 << 20, 100 * size)


def test_ratio_alone_is_no_crime(tmp_path: Path) -> None:
    path = tmp_path / "text.tsv.gz"
    path.write_bytes(gzip.compress(b"x\ty\n" * 1_000_000))
    assert path.stat().st_size * 100 < 4_000_000 == sum(map(len, file_blocks(path)))


def test_zstd_with_a_huge_window(tmp_path: Path) -> None:
    settings = zstandard.ZstdCompressionParameters(window_log=30)
    packer = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    message = complaint(one_file(tmp_path / "text.tsv.zst", packer.compress(TABLE) + packer.flush()))
    assert "text.tsv.zst is damaged or was cut off (zstd decompressor error: Frame requires too much memory" in message


def test_xz_with_a_huge_dictionary(tmp_path: Path) -> None:
    small, huge = (
        lzma.compress(TABLE, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << bits}])
        for bits in (20, 30)
    )
    assert list(read_pairs(one_file(tmp_path / "text.tsv.xz", small))) == PAIRS
    message = complaint(one_file(tmp_path / "text.tsv.xz", huge))
    assert "text.tsv.xz is damaged or was cut off (Memory usage limit exceeded)" in message


def tar_file() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo("text.en")
        member.size = len(ENGLISH)
        archive.addfile(member, io.BytesIO(ENGLISH))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (bz2.compress(TABLE), "a bzip2 file"),
        (tar_file(), "a tar archive"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "a 7z archive"),
        (b"Rar!\x1a\x07\x01\0", "a rar archive"),
    ],
)
def test_packings_that_are_not_read(tmp_path: Path, content: bytes, kind: str) -> None:
    assert f"is {kind}, which is not read; unpack it" in complaint(one_file(tmp_path / "text.tsv", content))


@pytest.mark.parametrize("suffix", PACKED)
def test_packed_twice(tmp_path: Path, suffix: str) -> None:
    for inner, kind in ((gzip.compress(TABLE), "gzip file"), (tar_file(), "tar archive"), (b"PK\3\4", "zip archive")):
        message = complaint(one_file(tmp_path / "text.tsv", PACKERS[suffix](inner)))
        assert f"text.tsv holds a {kind}: packed twice; unpack it once" in message


@given(st.lists(st.sampled_from([0, 1, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK]), max_size=6))
def test_blocks_are_even(sizes: list[int]) -> None:
    pieces = [bytes([65 + place]) * size for place, size in enumerate(sizes)]
    blocks = list(text_blocks(iter(pieces), "text", 1 << 30))
    assert b"".join(blocks) == b"".join(pieces)
    assert all(0 < len(block) <= BLOCK for block in blocks)
