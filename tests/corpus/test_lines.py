"""Lines from a stream of bytes, and pairs from lines, whatever the size of the blocks that are read."""

import io
import itertools
import tracemalloc
from pathlib import Path
from typing import IO, cast
from unittest import mock

import pytest

from translator.corpus import lines as lines_module
from translator.corpus.lines import BLOCK, LONGEST_LINE, Pair, Unreadable, pairs_of_table, read_lines
from translator.errors import CorpusError

INVALID, TOO_LONG = Unreadable.INVALID_UTF8, Unreadable.LINE_TOO_LONG


def lines_of(content: bytes, block: int = BLOCK, *, drop_invalid: bool = False) -> list[str]:
    with mock.patch.object(lines_module, "BLOCK", block):
        return list(itertools.chain.from_iterable(read_lines(io.BytesIO(content), "text", drop_invalid=drop_invalid)))


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
        (b"\r", ["\r"]),
        (b"a\r\nb\nc\r\nd", ["a", "b", "c", "d"]),
        (b"a\r\r\nb\rc\n", ["a\r", "b\rc"]),
        ("\ufeffa\n\ufeff\ufeffb\n\ufeff\n\ufeffc".encode(), ["a", "b", "", "c"]),
        ("a\ufeff\nb\ufeffc\r\n".encode(), ["a\ufeff", "b\ufeffc"]),
        ("a\u2028b\u0085c\x0bd\x0ce\x1cf\x00g\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce\x1cf\x00g"]),
    ],
)
def test_only_newlines_end_a_line(content: bytes, lines: list[str], block: int) -> None:
    assert lines_of(content, block) == lines_of(content, block, drop_invalid=True) == lines
    if lines:  # decoded one by one, as when the block contains a line that is not UTF-8
        assert lines_of(b"\xff\n" + content, block, drop_invalid=True) == [INVALID, *lines]


@pytest.mark.parametrize("block", [1, 5, BLOCK])
def test_invalid_utf8_error_gives_the_line_and_byte_offset(block: int) -> None:
    message = complaint(b"\xef\xbb\xbfOne.\r\nTwo\xe9.\nThree.\n", block)
    assert message.startswith("text, line 2: not UTF-8 (byte 0xe9 at byte offset 12 of the text); convert")
    assert "`invalid_utf8: drop`" in message
    assert "line 3: not UTF-8 (byte 0xd8 at byte offset 4 " in complaint(b"a\nb\n\xd8", block)


@pytest.mark.parametrize("surplus", [-1, 0, 1, 2, 10 << 20])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_only_lines_beyond_the_length_limit_are_marked_too_long(surplus: int, end: bytes) -> None:
    long = b"x" * (LONGEST_LINE + surplus)
    expected = long.decode() if surplus <= 0 else TOO_LONG
    for before, after in itertools.product((b"", b"a\n"), repeat=2):
        ending = end or (b"\n" if after else b"")
        assert lines_of(before + long + ending + after) == [*["a"] * bool(before), expected, *["a"] * bool(after)]


def test_memory_stays_flat_without_any_newline() -> None:
    class Endless:
        left = 64 << 20

        def read(self, size: int) -> bytes:
            self.left -= (given := min(size, self.left))
            return b"x" * given

        readline = read

    tracemalloc.start()
    try:
        assert list(read_lines(cast(IO[bytes], Endless()), "text", drop_invalid=False)) == [[TOO_LONG]]
        assert tracemalloc.get_traced_memory()[1] < 6 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("line", "count"), [("no tab", "1 column "), ("a\tb\tc", "3 columns "), ("", "1 column ")])
def test_a_table_row_without_exactly_two_columns_is_refused(line: str, count: str) -> None:
    pairs = pairs_of_table(["a\tb", "\t", INVALID, line], Path("text.tsv"))
    good = [Pair(1, "a", "b"), Pair(2, "", ""), Pair(3, "", "", "invalid_utf8")]
    assert list(itertools.islice(pairs, 3)) == good
    with pytest.raises(CorpusError, match=f"text.tsv, line 4: {count}.*source_path"):
        next(pairs)
