"""Lines from a stream of bytes, and pairs from lines, whatever the size of the blocks that are read."""

import itertools
import tracemalloc

import pytest

from translator.corpus.reading.lines import LONGEST_LINE, Pair, Unreadable, pairs_of_sides, read_lines
from translator.corpus.reading.packing import BLOCK
from translator.errors import CorpusError

INVALID, TOO_LONG = Unreadable.INVALID_UTF8, Unreadable.LINE_TOO_LONG


def lines_of(content: bytes, block: int = BLOCK, *, drop_invalid: bool = False) -> list[str]:
    blocks = [content[start : start + block] for start in range(0, len(content), block)]
    return list(itertools.chain.from_iterable(read_lines(blocks, "text", drop_invalid=drop_invalid)))


def complaint(content: bytes, block: int = BLOCK) -> str:
    with pytest.raises(CorpusError) as caught:
        lines_of(content, block)
    return str(caught.value)


@pytest.mark.parametrize("block", [1, 2, 3, 7, BLOCK])
@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n\n", ["", ""]),
        (b"\r\n", [""]),
        (b"\r", [""]),
        (b"a\rb\r", ["a", "b"]),
        (b"a\r\nb\nc\r\nd", ["a", "b", "c", "d"]),
        (b"a\r\r\nb\rc\n", ["a\r", "b\rc"]),
        ("\ufeffa\n\ufeff\ufeffb\n\ufeff\n\ufeffc".encode(), ["a", "b", "", "c"]),
        ("a\ufeff\nb\ufeffc\r\n".encode(), ["a\ufeff", "b\ufeffc"]),
        ("a\u2028b\u0085c\x0bd\x0ce\x1cf\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce\x1cf"]),
        ("\ufeffگل\r\nab\rc\n".encode("utf-16-le"), ["گل", "ab\rc"]),
        ("\ufeffa\rگل".encode("utf-16-be"), ["a", "گل"]),
    ],
)
def test_only_newlines_end_a_line(content: bytes, lines: list[str], block: int) -> None:
    assert lines_of(content, block) == lines_of(content, block, drop_invalid=True) == lines
    if b"\n" in content and b"\0" not in content:  # decoded one by one, as beside a line that is not UTF-8
        assert lines_of(b"\xff\n" + content, block, drop_invalid=True) == [INVALID, *lines]


@pytest.mark.parametrize("block", [1, 5, BLOCK])
def test_invalid_utf8_error_gives_the_line(block: int) -> None:
    message = complaint(b"\xef\xbb\xbfOne.\r\nTwo\xe9.\nThree.\n", block)
    assert message.startswith("text, line 2: not UTF-8; ")
    assert "line 3: not UTF-8; " in complaint(b"a\nb\n\xd8", block)
    assert "line 2: not UTF-8; it has a NUL byte" in complaint(b"a" * 300 + b"\nbc\0\n", block)


@pytest.mark.parametrize("surplus", [-1, 0, 1, 2, 10 << 20])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_only_lines_beyond_the_length_limit_are_marked_too_long(surplus: int, end: bytes) -> None:
    long = b"x" * (LONGEST_LINE + surplus)
    expected = long.decode() if surplus <= 0 else TOO_LONG
    for before, after in itertools.product((b"", b"a\n"), repeat=2):
        ending = end or (b"\n" if after else b"")
        lines_before = ["a"] if before else []
        lines_after = ["a"] if after else []
        assert lines_of(before + long + ending + after) == [*lines_before, expected, *lines_after]


def test_memory_stays_flat_without_any_newline() -> None:
    endless = itertools.repeat(b"x" * BLOCK, (64 << 20) // BLOCK)
    tracemalloc.start()
    try:
        assert list(read_lines(endless, "text", drop_invalid=False)) == [[TOO_LONG]]
        assert tracemalloc.get_traced_memory()[1] < 6 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("blank", [[], [""], ["", " ", ""]])
def test_blank_lines_at_the_end_of_one_or_both_texts_are_no_pairs(blank: list[str]) -> None:
    expected = [Pair(1, "a", "b"), Pair(2, "", ""), Pair(3, "c", "d")]
    for more in ([], [""]):
        assert list(pairs_of_sides(["a", "", "c", *blank], ["b", " ", "d", *more], "x", ("a", "b"))) == expected
