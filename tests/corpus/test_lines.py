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
PERSIAN = "خواهرم هر روز چاي مي نوشد.\nكتاب كجاست؟\nدر باز است.\n"
ENGLISH = "The café opens at nine.\nIt’s “closed” on Sundays — sorry.\nAsk the fiancé.\n"
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


def test_a_carriage_return_and_newline_after_the_first_block_are_one_line_end() -> None:
    line = "a" * (BLOCK - 1)  # its "\r" is the last byte of the block, which has no "\n"
    assert lines_of(f"{line}\r\nb\r\nc\r\n".encode()) == [line, "b", "c"]


def test_memory_stays_flat_without_any_newline() -> None:
    endless = itertools.repeat(b"x" * BLOCK, (64 << 20) // BLOCK)
    tracemalloc.start()
    try:
        assert list(read_lines(endless, "text", drop_invalid=False)) == [TOO_LONG]
        assert tracemalloc.get_traced_memory()[1] < 6 << 20
    finally:
        tracemalloc.stop()


# --- what is not read ---


@pytest.mark.parametrize("block", [1, BLOCK])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xef\xbb\xbfOne.\r\nTwo\xe9.\nThree.\n", "text, line 2: not UTF-8; "),
        (b"a\nb\n\xd8", "text, line 3: not UTF-8; "),
        (b"a" * 300 + b"\nbc\0\n", r"text, line 2: not UTF-8; it has a NUL byte.* `tr -d '\000' < FILE > NEW`"),
        (b"%PDF-1.7\n\xe2\xe3\n", "text is a PDF file"),
        (b"{\\rtf1 a}\n", "text is a rich text document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "text is not text: it has NUL bytes, as documents"),
        (b"a\0b\n\1\2\0\n", "text is not text"),
        (b"\0" * 9 + b"a\n" * 99, "text is not text"),
        (b"\x1f\x8b\x08", "text is a gzip file"),
        (ENGLISH.encode("utf-16-le"), "text is not text"),
        (PERSIAN.encode("utf-16-be"), "text is not text"),
        (PERSIAN.encode("utf-32-le"), "text is not text"),
    ],
)
def test_what_is_not_utf8_is_refused_with_its_kind(content: bytes, message: str, block: int) -> None:
    with pytest.raises(CorpusError, match=message.replace("\\", "\\\\")):
        lines_of(content, block)


@pytest.mark.parametrize(
    ("text", "codec", "name"),
    [
        (PERSIAN, "windows-1256", "WINDOWS-1256"),
        (PERSIAN.replace("چ", "ج"), "iso8859-6", "ISO-8859-6"),
        (f"One.\t{PERSIAN}", "windows-1256", "WINDOWS-1256"),
        (ENGLISH, "windows-1252", "WINDOWS-1252"),
        (ENGLISH, "mac-roman", "MACINTOSH"),
    ],
)
def test_an_old_encoding_is_named_with_the_command_that_converts_it(text: str, codec: str, name: str) -> None:
    command = f"`iconv -f {name} -t UTF-8 FILE > NEW`"
    with pytest.raises(CorpusError, match=f"text, line .*: not UTF-8; .* {command}"):
        lines_of(text.encode(codec))
    with pytest.raises(CorpusError, match=f"the input is not UTF-8 .* {command}"):
        refuse_other_encoding(text.encode(codec), "the input")


def test_damaged_utf8_is_not_taken_for_another_encoding() -> None:
    for damage in (b"a\xffb", b"\xc3", "در".encode()[:-1]):
        refuse_other_encoding(b"a line\n" * 9 + damage + b"\n", "the input")
