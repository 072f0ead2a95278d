"""Encodings of text: UTF-8 and UTF-16 with a byte order mark are read; others are recognized for the message.

An encoding is recognized by the characters that its bytes would spell: text in Persian, or in a language of Europe,
consists of frequent letters in the right encoding, and of odd signs in a wrong one.
"""

import codecs
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from translator.corpus.reading.packing import packing_of_bytes
from translator.errors import CorpusError

HEAD: Final = 1 << 17  # bytes at the start of a text that show its encoding and its line ends
_LEAST_FREQUENT: Final = 0.8  # share of frequent characters among all beyond ASCII, in the right encoding
_BINARY: Final = 0.01  # share of NUL bytes; text has none, or a few stray ones
_STRAY_NULS: Final = 8  # NUL bytes that a short text may have
_WORD: Final = re.compile(rb"[A-Za-z\x80-\xff]*[\x80-\xff][A-Za-z\x80-\xff]*")
_ASCII_LETTER: Final = re.compile(rb"[A-Za-z]")


class Encoding(NamedTuple):
    """An encoding that old text may have."""

    title: str
    iconv: str  # its name for iconv
    codec: str  # its name in Python
    frequent: frozenset[str]  # characters beyond ASCII that most of such text consists of


_PERSIAN: Final = frozenset("ابپتثجچحخدذرزژسشصضطظعغفقکكگلمنوهیيىئءآأ،؛؟ـ«»\u200c\u200f\u00a0")
_EUROPEAN: Final = frozenset("àáâãäåæçèéêëìíîïñòóôõöøùúûüýÿßœÀÁÂÄÅÆÇÈÉÊËÍÎÏÑÓÔÖØÚÜŒ‘’“”„–—…•€£©®™°«»·½¡¿§\u00a0")
_IN_ARABIC_SCRIPT: Final = (
    Encoding("Windows-1256 (Arabic and Persian)", "WINDOWS-1256", "windows-1256", _PERSIAN),
    Encoding("ISO-8859-6 (Arabic)", "ISO-8859-6", "iso8859-6", _PERSIAN),
)
_IN_LATIN_SCRIPT: Final = (
    Encoding("Windows-1252 or Latin-1", "WINDOWS-1252", "windows-1252", _EUROPEAN - set("ÿ")),
    Encoding("Mac Roman", "MACINTOSH", "mac-roman", _EUROPEAN - set("ÿ")),
)
_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLD_EXCEL: Final = "Workbook".encode("utf-16-le")  # a name inside an Excel workbook of an old Office program
_BINARY_SIGNATURES: Final = {
    b"%PDF-": ("a PDF file", "extract its text first, for example with pdftotext"),
    _OLD_OFFICE: ("a document of an old Office program", "save it as plain text in UTF-8"),
    b"{\\rtf": ("a rich text document (RTF)", "save it as plain text in UTF-8"),
    b"\x89PNG": ("a picture", "give a text file"),
    b"\xff\xd8\xff": ("a picture", "give a text file"),
    b"\x7fELF": ("a program", "give a text file"),
}


# --- any supported text as UTF-8 ---


def utf8_blocks(blocks: Iterable[bytes], label: str) -> Iterator[bytes]:
    r"""Yield a text as UTF-8 without its byte order mark, whatever the size of `blocks`.

    A text in UTF-16 with a byte order mark is converted; a lone surrogate in it becomes bytes that are not UTF-8.
    Nothing is yielded before the first "\n", or the first 128 KiB, has arrived.

    Raises CorpusError: the text `label` is in another encoding that its NUL bytes show, or no text at all.
    """
    head, blocks = _head(blocks)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not head.startswith(codecs.BOM_UTF32_LE):
        yield from _from_utf16(itertools.chain([head], blocks))
        return
    _refuse_binary(head, label)
    yield head.removeprefix(codecs.BOM_UTF8)
    yield from blocks


def newline_blocks(blocks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield a UTF-8 text with "\n" after each line, if "\r" ends its lines, as on a Mac before 2001; else unchanged.

    "\r" ends the lines of a text without a "\n" in its first 128 KiB. Elsewhere "\r" is a character like others,
    because a stray one in one side of a corpus must not misalign the pairs after it.
    """
    head, blocks = _head(blocks)
    all_blocks = itertools.chain([head], blocks)
    if b"\n" in head[:HEAD] or b"\r" not in head[:HEAD]:
        yield from all_blocks
        return
    decoder = io.IncrementalNewlineDecoder(None, translate=True)
    for block in all_blocks:
        yield decoder.decode(block.decode("latin-1")).encode("latin-1")
    yield decoder.decode("", final=True).encode("latin-1")


def _head(blocks: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    r"""Return the first blocks, up to one with a "\n" or to `HEAD` bytes, and an iterator over the others."""
    remaining = iter(blocks)
    parts: list[bytes] = []
    size = 0
    for block in remaining:
        parts.append(block)
        size += len(block)
        if b"\n" in block or size >= HEAD:
            break
    return b"".join(parts), remaining


def _from_utf16(blocks: Iterable[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")("surrogatepass")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "surrogatepass")
    try:
        yield decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        yield b"\xff"  # half a character at the end makes its line invalid


def _refuse_binary(head: bytes, label: str) -> None:
    """Raise CorpusError for a text in UTF-16 without a mark or in UTF-32, and for what is no text."""
    kind = packing_of_bytes(head)
    if kind is not None:
        raise CorpusError(f"{label} is a {kind}, and text is needed; unpack it first")
    if head.startswith(_OLD_OFFICE) and _OLD_EXCEL in head:
        raise CorpusError(f"{label} is an Excel workbook (.xls), not text; save it as CSV")
    for signature, (kind_of_file, advice) in _BINARY_SIGNATURES.items():
        if head.startswith(signature):
            raise CorpusError(f"{label} is {kind_of_file}, not text; {advice}")
    if b"\0" not in head:
        return
    name = _wide_encoding(head)
    if name is not None:
        problem = "without a byte order mark" if name.startswith("UTF-16") else "which is not supported"
        raise CorpusError(f"{label} looks like {name}, {problem}; {_conversion(name)}")
    has_many_nuls = head.count(0) > max(_STRAY_NULS, _BINARY * len(head))
    if has_many_nuls or 2 * len(invalid_lines(head)) > head.count(b"\n"):
        raise CorpusError(f"{label} is not text: it has NUL bytes, as binary files have; give a text file in UTF-8")


def _wide_encoding(head: bytes) -> str | None:
    """Return the encoding of several bytes a character that a text without a byte order mark looks like, or None."""
    # The share of zero bytes at each place of four. Each character of UTF-32 has two of them, and each ASCII character
    # of UTF-16 has one.
    zeros = []
    for place in range(4):
        bytes_at_place = head[place::4]
        zeros.append(bytes_at_place.count(0) / max(1, len(bytes_at_place)))
    if zeros[2] > 0.9 and zeros[3] > 0.9:
        return "UTF-32LE"
    if zeros[0] > 0.9 and zeros[1] > 0.9:
        return "UTF-32BE"
    if min(zeros[1], zeros[3]) > 0.05 and max(zeros[0], zeros[2]) < 0.02:
        return "UTF-16LE"
    if min(zeros[0], zeros[2]) > 0.05 and max(zeros[1], zeros[3]) < 0.02:
        return "UTF-16BE"
    return None


# --- the encoding of other text ---


def invalid_lines(data: bytes) -> list[bytes]:
    """Return the lines of `data` that are not UTF-8, or have a NUL byte."""
    return [line for line in data.split(b"\n") if not is_utf8(line)]


def is_utf8(line: bytes) -> bool:
    """Return whether `line` is text in UTF-8, which has no NUL byte."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in line


def first_invalid_byte(line: bytes) -> int:
    """Return the place of the first byte of `line` that is not UTF-8, or else of its first NUL byte."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return line.index(0)


def encoding_of(lines: Iterable[bytes]) -> Encoding | None:
    """Return the encoding that `lines`, none of which is UTF-8, look like; None if no known one fits."""
    words = _WORD.findall(b" ".join(lines))
    beyond_ascii = b"".join(_ASCII_LETTER.sub(b"", word) for word in words)
    if not beyond_ascii:
        return None
    # In Latin script most letters are ASCII. In Arabic script none are, and a word has several.
    ascii_letters = sum(map(len, words)) - len(beyond_ascii)
    candidates = _IN_LATIN_SCRIPT if ascii_letters >= len(beyond_ascii) else _IN_ARABIC_SCRIPT
    if candidates is _IN_ARABIC_SCRIPT and len(beyond_ascii) < 2 * len(words):
        return None
    best, best_share = None, _LEAST_FREQUENT
    for encoding in candidates:
        text = beyond_ascii.decode(encoding.codec, "replace")
        share = sum(character in encoding.frequent for character in text) / len(text)
        if share > best_share:
            best, best_share = encoding, share
    return best


def encoding_advice(data: bytes) -> str:
    """Return what to do about lines of `data` that are not UTF-8, with the encoding that they look like."""
    lines = [line for line in invalid_lines(data) if b"\0" not in line]
    if not lines:
        return "it has a NUL byte, which no text needs; delete such bytes: `tr -d '\\000' < FILE > NEW`"
    encoding = encoding_of(lines)
    if encoding is None:
        return "find out its encoding, for example with `file`, and convert it: `iconv -f ENCODING -t UTF-8 FILE > NEW`"
    advice = f"it looks like {encoding.title}; {_conversion(encoding.iconv)}"
    if any(not line.isascii() and is_utf8(line) for line in data.split(b"\n")):
        advice += " (only those lines: others are UTF-8 already)"
    return advice


def refuse_other_encoding(data: bytes, label: str) -> None:
    """Raise CorpusError if most lines of `data` beyond ASCII are not UTF-8, and they look like another encoding."""
    not_utf8 = invalid_lines(data)
    beyond_ascii = [line for line in data.split(b"\n") if not line.isascii() or b"\0" in line]
    if 2 * len(not_utf8) <= len(beyond_ascii):
        return
    are_most_lines = 2 * len(not_utf8) > data.count(b"\n") + 1
    if are_most_lines or encoding_of(not_utf8) is not None:
        total = len(data.removesuffix(b"\n").split(b"\n"))
        counts = f"{len(not_utf8):,} of its first {total:,} lines"
        raise CorpusError(f"{label} is not UTF-8 ({counts}); {encoding_advice(data)}")


def _conversion(name: str) -> str:
    return f"convert it: `iconv -f {name} -t UTF-8 FILE > NEW`"
