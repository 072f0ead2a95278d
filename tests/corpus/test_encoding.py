"""Encodings: UTF-8 and UTF-16 are read with any line ends; others, and binary files, are refused with their name."""

import itertools
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.reading.encoding import refuse_other_encoding
from translator.corpus.reading.lines import read_lines
from translator.corpus.reading.packing import read_blocks
from translator.errors import CorpusError

PERSIAN = "خواهرم هر روز چاي مي نوشد.\nكتاب كجاست؟\nدر باز است.\n"
ENGLISH = "The café opens at nine.\nIt’s “closed” on Sundays — sorry.\nAsk the fiancé.\n"
CHARACTERS = st.characters(exclude_characters="\0\r\n\ufeff", exclude_categories=["Cs"])


def lines_of(content: bytes, block: int = 1 << 17) -> list[str]:
    blocks = [content[start : start + block] for start in range(0, len(content), block)]
    return list(itertools.chain.from_iterable(read_lines(blocks, "text", drop_invalid=False)))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.text(CHARACTERS, max_size=8), min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.integers(1, 9),
)
def test_any_text_has_the_same_lines_in_each_encoding(texts: list[str], end: str, codec: str, block: int) -> None:
    content = "".join(f"{text}{end}" for text in texts).encode(codec)
    assert lines_of(content, block) == texts


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
    with pytest.raises(CorpusError, match=f"text, line .*: not UTF-8; .* `iconv -f {name} -t UTF-8 FILE > NEW`"):
        lines_of(text.encode(codec))
    with pytest.raises(CorpusError, match=f"the input is not UTF-8 .* `iconv -f {name} -t UTF-8 FILE > NEW`"):
        refuse_other_encoding(text.encode(codec), "the input")


def test_damaged_utf8_is_not_taken_for_another_encoding() -> None:
    for damage in (b"a\xffb", b"\xc3", "در".encode()[:-1]):
        refuse_other_encoding(b"a line\n" * 9 + damage + b"\n", "the input")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", [PERSIAN, ENGLISH])
def test_wide_characters_without_a_mark_are_refused(text: str, codec: str) -> None:
    with pytest.raises(CorpusError, match=r"text is not text: it has NUL bytes, .* UTF-16 or UTF-32 without"):
        lines_of(text.encode(codec))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"%PDF-1.7\n\xe2\xe3\n", "a PDF file"),
        (b"{\\rtf1 a}\n", "a rich text document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "it has NUL bytes, as documents"),
        (b"a\0b\n\1\2\0\n", "it has NUL bytes"),
        (b"\x1f\x8b\x08", "is a gzip file"),
    ],
)
def test_a_binary_file_is_refused_with_its_kind(content: bytes, kind: str) -> None:
    with pytest.raises(CorpusError, match=f"^text .*{kind}"):
        lines_of(content)


@pytest.mark.parametrize(
    ("member", "kind"),
    [("[Content_Types].xml", "a document, as Word"), ("mimetype", "a document, as Word"), ("a", "a zip")],
)
def test_a_document_in_a_zip_is_refused_with_its_kind(member: str, kind: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "book", "w") as archive:
        archive.writestr(member, "x")
    with pytest.raises(CorpusError, match=f"book is {kind}"):
        list(read_blocks(tmp_path / "book"))


def test_half_an_emoji_at_the_end_of_utf16_makes_its_line_invalid() -> None:
    parts = read_lines(["a\nb😀".encode("utf-16")[:-2]], "text", drop_invalid=True)
    assert list(itertools.chain.from_iterable(parts)) == ["a", "invalid_utf8"]


def test_a_few_nul_bytes_in_a_short_text_cost_only_their_line() -> None:
    parts = read_lines([b"One.\nT\0\0\0wo.\nThree.\n"], "text", drop_invalid=True)
    assert list(itertools.chain.from_iterable(parts)) == ["One.", "invalid_utf8", "Three."]


def test_the_message_on_a_nul_byte_says_how_to_delete_it() -> None:
    with pytest.raises(CorpusError, match=r"text, line 2: .* `tr -d '.000' < FILE > NEW`"):
        lines_of(b"One.\nT\0wo.\nThree.\n")
