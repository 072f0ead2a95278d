"""Lines of text from blocks of bytes, however the blocks are cut."""

import itertools
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.sources.lines import INVALID_UTF8, LINE_TOO_LONG, LONGEST_LINE, read_lines
from translator.errors import CorpusError

BLOCK = 1 << 17


def blocks_of(content: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


def lines_of(content: bytes, size: int = BLOCK, *, drop_invalid: bool = False) -> list[str]:
    """Return the lines; for one that could not be read, its defect in brackets."""
    lines: list[str] = []
    for texts, defects in read_lines(blocks_of(content, size), "text", drop_invalid=drop_invalid):
        assert all(texts[place] == "" for place in defects)
        lines += [f"[{defects[place]}]" if place in defects else text for place, text in enumerate(texts)]
    return lines


def complaint(content: bytes, size: int = BLOCK) -> str:
    with pytest.raises(CorpusError) as caught:
        lines_of(content, size)
    return str(caught.value)


@pytest.mark.parametrize("size", [1, 2, 3, 7, BLOCK])
@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"\r\n", [""]),
        (b"\r", ["\r"]),
        (b"a", ["a"]),
        (b"a\r\nb\nc\r\nd", ["a", "b", "c", "d"]),
        (b"a\r\r\nb\rc\n", ["a\r", "b\rc"]),
        ("\ufeffa\n\ufeff\ufeffb\n\ufeff\n\ufeffc".encode(), ["a", "b", "", "c"]),
        ("a\ufeff\nb\ufeffc\r\n".encode(), ["a\ufeff", "b\ufeffc"]),
        ("a\u2028b\u0085c\x0bd\x0ce\x1cf\x00g\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce\x1cf\x00g"]),
    ],
)
def test_only_newlines_end_a_line(content: bytes, lines: list[str], size: int) -> None:
    assert lines_of(content, size) == lines_of(content, size, drop_invalid=True) == lines
    if lines:  # the slow way, taken after a line that is not UTF-8
        assert lines_of(b"\xff\n" + content, size, drop_invalid=True) == [f"[{INVALID_UTF8}]", *lines]


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))), st.integers(1, 30))
def test_any_text_survives(texts: list[str], size: int) -> None:
    texts = [text.lstrip("\ufeff").removesuffix("\r") for text in texts]
    assert lines_of("".join(f"{text}\n" for text in texts).encode(), size) == texts
    assert lines_of("".join(f"\ufeff{text}\r\n" for text in texts).encode(), size) == texts


@settings(deadline=None)
@given(st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"")), max_size=9), st.integers(1, 30))
def test_any_bytes_are_as_many_lines(lines: list[bytes], size: int) -> None:
    content = b"".join(line + b"\n" for line in lines)
    found = lines_of(content, size, drop_invalid=True)
    assert len(found) == len(lines)
    for line, text in zip(lines, found, strict=True):
        try:
            assert text == line.removesuffix(b"\r").decode().lstrip("\ufeff")
        except UnicodeDecodeError:
            assert text == f"[{INVALID_UTF8}]"
    first = next((place for place, text in enumerate(found) if text == f"[{INVALID_UTF8}]"), None)
    if first is not None:
        assert complaint(content, size).startswith(f"text, line {first + 1}: not UTF-8 (byte 0x")


@pytest.mark.parametrize("size", [1, 5, BLOCK])
def test_place_of_what_is_not_utf8(size: int) -> None:
    message = complaint(b"\xef\xbb\xbfOne.\r\nTwo\xe9.\nThree.\n", size)
    assert message.startswith("text, line 2: not UTF-8 (byte 0xe9 at byte offset 12 of the text); convert")
    assert "`invalid_utf8: drop`" in message
    assert "line 1: not UTF-8 (byte 0xff at byte offset 4 " in complaint(b"\xef\xbb\xbfO\xff\n", size)
    assert "line 3: not UTF-8 (byte 0xd8 at byte offset 4 " in complaint(b"a\nb\n\xd8", size)


def test_place_far_into_a_text() -> None:
    content = b"x" * 99 + b"\n" + b"y" * (3 * LONGEST_LINE) + b"\r\n" + b"z\n" * 200_000 + b"ab\xff\n"
    message = complaint(content)
    assert f"line 200003: not UTF-8 (byte 0xff at byte offset {len(content) - 2:,} " in message


def test_lines_before_the_wrong_one_come_first() -> None:
    runs = read_lines(iter([b"a\nb\n\xff\nc\n"]), "text", drop_invalid=False)
    assert next(runs).texts == ["a", "b"]
    with pytest.raises(CorpusError):
        next(runs)


@pytest.mark.parametrize("surplus", [-1, 0, 1, 2, BLOCK, 10 << 20])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_length_of_a_line(surplus: int, end: bytes) -> None:
    long = b"x" * (LONGEST_LINE + surplus)
    expected = long.decode() if surplus <= 0 else f"[{LINE_TOO_LONG}]"
    for before, after in itertools.product((b"", b"a\n"), repeat=2):
        ending = end or (b"\n" if after else b"")
        lines = lines_of(before + long + ending + after)
        assert lines == [*["a"] * bool(before), expected, *["a"] * bool(after)]


def test_longest_line_whose_end_is_in_two_blocks() -> None:
    size = 61_681
    assert (LONGEST_LINE + 1) % size == 0  # so that a block begins between the carriage return and the newline
    assert lines_of(b"x" * LONGEST_LINE + b"\r\ny\n", size) == ["x" * LONGEST_LINE, "y"]
    assert lines_of(b"x" * LONGEST_LINE + b"z\ny\n", size) == [f"[{LINE_TOO_LONG}]", "y"]


def test_what_is_too_long_need_not_be_utf8() -> None:
    content = b"a\n" + b"\xff" * (LONGEST_LINE + 1) + b"\nb\n" + b"\xff" * (3 * LONGEST_LINE)
    assert lines_of(content) == ["a", f"[{LINE_TOO_LONG}]", "b", f"[{LINE_TOO_LONG}]"]


def test_memory_stays_flat_without_any_newline() -> None:
    tracemalloc.start()
    try:
        runs = list(read_lines(itertools.repeat(b"x" * BLOCK, 500), "text", drop_invalid=False))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert runs == [([""], {0: LINE_TOO_LONG})]
    assert peak < 6 << 20
