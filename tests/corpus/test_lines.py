"""Lines from a stream of bytes in any encoding, whatever the size of the blocks."""

import itertools
import tracemalloc
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.reading.encoding import refuse_other_encoding
from translator.corpus.reading.lines import Unreadable, read_lines
from translator.corpus.reading.packing import BLOCK
from translator.errors import CorpusError

INVALID, TOO_LONG = Unreadable.INVALID_UTF8, Unreadable.LINE_TOO_LONG
LONGEST = 40  # bytes of a line in the property
PARTS = ["\n", "\n", "\r", "\r\n", "\ufeff", "a", "گل ", "\u2028\x0b\x1c\u0085", "\udcff", "x" * LONGEST]
"""Line ends, characters that are none, a byte that is not UTF-8, and lines about as long as the limit."""


def lines_of(content: bytes, block: int = BLOCK, *, drop_invalid: bool = False) -> list[str]:
    blocks = [content[start : start + block] for start in range(0, len(content), block)]
    return list(read_lines(blocks, "text", drop_invalid=drop_invalid))


def plain_lines(content: bytes) -> list[str]:
    """Return the lines of a text in UTF-8 by a simple method that takes it at once."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return list(map(plain_line, lines))


def plain_line(line: bytes) -> str:
    line = line.removesuffix(b"\r")
    if len(line) > LONGEST:
        return TOO_LONG
    try:
        return line.decode().lstrip("\ufeff")
    except UnicodeDecodeError:
        return INVALID


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(PARTS), max_size=12).map("".join),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be"]),
    st.sampled_from([1, 2, 3, 7, BLOCK]),
)
def test_lines_are_those_of_a_text_that_is_read_at_once(text: str, codec: str, block: int) -> None:
    # Half a surrogate pair stands for the byte that is not UTF-8; UTF-16 has it as it is.
    errors = "surrogatepass" if codec.startswith("utf-16") else "surrogateescape"
    mark = "\ufeff" if codec == "utf-16-be" else ""  # Python writes that of the other two
    plain_codec = "utf-8" if codec == "utf-8" else "utf-8-sig"
    with mock.patch("translator.corpus.reading.lines.LONGEST_LINE", LONGEST):
        lines = lines_of((mark + text).encode(codec, errors), block, drop_invalid=True)
    assert lines == plain_lines(text.encode(plain_codec, errors))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("a\nb😀".encode("utf-16")[:-2], ["a", INVALID]),
        ("a\nb".encode("utf-16")[:-1], ["a", INVALID]),
        (b"One.\nT\0\0\0wo.\nThree.\n", ["One.", INVALID, "Three."]),
    ],
    ids=["half an emoji at the end", "half a character at the end", "a few NUL bytes"],
)
def test_damage_costs_only_its_line(content: bytes, lines: list[str]) -> None:
    assert lines_of(content, drop_invalid=True) == lines


def test_memory_stays_flat_without_any_newline() -> None:
    endless = itertools.repeat(b"x" * BLOCK, (64 << 20) // BLOCK)
    tracemalloc.start()
    try:
        assert list(read_lines(endless, "text", drop_invalid=False)) == [TOO_LONG]
        assert tracemalloc.get_traced_memory()[1] < 6 << 20
    finally:
        tracemalloc.stop()


def test_an_old_encoding_of_the_input_is_named_but_damaged_utf8_is_not_taken_for_one() -> None:
    with pytest.raises(CorpusError, match=r"the input is not UTF-8 .* `iconv -f WINDOWS-1256 -t UTF-8 FILE > NEW`"):
        refuse_other_encoding("خواهرم هر روز چاي مي نوشد.\nكتاب كجاست؟\n".encode("windows-1256"), "the input")
    for damage in (b"a\xffb", b"\xc3", "در".encode()[:-1]):
        refuse_other_encoding(b"a line\n" * 9 + damage + b"\n", "the input")
