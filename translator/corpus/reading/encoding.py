"""Encodings of text: UTF-8 and UTF-16 with a byte order mark are read; others are recognised for the message."""

import codecs
import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from translator.corpus.reading.packing import packing_of_bytes
from translator.errors import CorpusError

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

_HEAD: Final = 1 << 20  # bytes at the start of a text that show its encoding and its line ends
_NUL_SHARE_OF_BINARY: Final = 0.01  # of all bytes; text has no NUL bytes, or a few stray ones
_STRAY_NULS: Final = 8  # NUL bytes that a short text may have
_SIGNATURES: Final = {
    b"%PDF-": ("a PDF file", "extract its text first, for example with pdftotext"),
    b"{\\rtf": ("a rich text document (RTF)", "save it as plain text in UTF-8"),
}
_OLD_ENCODINGS: Final = {
    "cp1256": "WINDOWS-1256",  # Arabic and Persian
    "iso8859_6": "ISO-8859-6",  # Arabic
    "cp1252": "WINDOWS-1252",  # Western Europe
    "mac_roman": "MACINTOSH",
}
"""Names for iconv by those of Python."""


# --- any supported text as UTF-8 ---


def utf8_blocks(blocks: Iterable[bytes], label: str) -> Iterator[bytes]:
    r"""Yield a text as UTF-8 without its byte order mark and with "\n" after each line, whatever the size of `blocks`.

    A text in UTF-16 with a byte order mark is converted; a lone surrogate in it becomes bytes that are not UTF-8.
    "\r" ends the lines of a text without a "\n" in its first MiB, as on a Mac before 2001. In any other text "\r" is a
    character like others, because a stray one in one side of a corpus must not misalign the pairs after it; but readers
    drop one before "\n" and one at the end of the text.
    Nothing is yielded before the first "\n", or the first MiB, has arrived.

    Raises CorpusError: the text `label` is a binary file, or in another encoding that has NUL bytes.
    """
    # 1. Make the text UTF-8. The mark of UTF-32, which `_refuse_binary` refuses, begins with that of UTF-16.
    head, remaining = _head(blocks)
    is_utf32 = head.startswith(codecs.BOM_UTF32_LE)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not is_utf32:
        all_blocks = itertools.chain([head], remaining)
        head, remaining = _head(_from_utf16(all_blocks))
    else:
        _refuse_binary(head, label)
        head = head.removeprefix(codecs.BOM_UTF8)

    # 2. Make the line ends "\n".
    return_ends_lines = b"\r" in head and b"\n" not in head
    for block in itertools.chain([head], remaining):
        yield block.replace(b"\r", b"\n") if return_ends_lines else block


def _head(blocks: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    r"""Return the first blocks, up to one with a "\n" or to `_HEAD` bytes, and an iterator over the others."""
    remaining = iter(blocks)
    head = b""
    for block in remaining:
        head += block
        if b"\n" in block or len(head) >= _HEAD:
            break
    return head, remaining


def _from_utf16(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield text in UTF-16 as UTF-8; a lone surrogate, or half a character at the end, is invalid in UTF-8 too."""
    try:
        for text in codecs.iterdecode(blocks, "utf-16", "surrogatepass"):
            yield text.encode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        yield b"\xff"  # half a character at the end makes its line invalid


def _refuse_binary(head: bytes, label: str) -> None:
    """Raise CorpusError for what is no text, and for UTF-16 and UTF-32; the caller has converted UTF-16 with a mark."""
    kind = packing_of_bytes(head)
    if kind is not None:
        raise CorpusError(f"{label} is a {kind}, and text is needed; unpack it first")
    for signature, (kind_of_file, advice) in _SIGNATURES.items():
        if head.startswith(signature):
            raise CorpusError(f"{label} is {kind_of_file}, not text; {advice}")
    # Many NUL bytes are refused, and even one in a text of which most lines are invalid.
    nuls = head.count(0)
    has_many_nuls = nuls > max(_STRAY_NULS, _NUL_SHARE_OF_BINARY * len(head))
    if has_many_nuls or (nuls > 0 and 2 * len(invalid_lines(head)) > head.count(b"\n")):
        raise CorpusError(
            f"{label} is not text: it has NUL bytes, as documents, pictures and other binary files have, and UTF-16 or "
            "UTF-32 without a byte order mark; give a text file in UTF-8"
        )


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


def encoding_advice(data: bytes) -> str:
    """Return what to do about lines of `data` that are not UTF-8, with the encoding that they look like."""
    # 1. What is wrong: a NUL byte, or an encoding that may be known.
    lines = [line for line in invalid_lines(data) if b"\0" not in line]
    if not lines:
        return "it has a NUL byte, which no text needs; delete such bytes: `tr -d '\\000' < FILE > NEW`"
    match = _old_encoding(lines)  # None, or one of `_OLD_ENCODINGS`
    if match is None:
        return "find out its encoding, for example with `file`, and convert it: `iconv -f ENCODING -t UTF-8 FILE > NEW`"

    # 2. How to convert it.
    name = _OLD_ENCODINGS[match.encoding]
    advice = f"it may be {name}; convert it: `iconv -f {name} -t UTF-8 FILE > NEW`"
    if any(not line.isascii() and is_utf8(line) for line in data.split(b"\n")):
        advice += " (only those lines: others are UTF-8 already)"
    return advice


def refuse_other_encoding(data: bytes, label: str) -> None:
    """Raise CorpusError if `data`, the beginning of a text, is not UTF-8.

    A text is not UTF-8 if most of its lines beyond ASCII are invalid and if, besides, one of two things holds: the
    invalid lines are most of all lines, or an old encoding makes text of them.
    """
    # 1. Accept a text if at most half of its lines beyond ASCII are invalid. A NUL, which is ASCII, makes a line
    # invalid, too.
    invalid = invalid_lines(data)
    beyond_ascii = [line for line in data.split(b"\n") if not line.isascii() or b"\0" in line]
    if 2 * len(invalid) <= len(beyond_ascii):
        return

    # 2. Else refuse it if the invalid lines are most of all lines, or if an old encoding makes text of them.
    total = len(data.removesuffix(b"\n").split(b"\n"))
    match = _old_encoding(invalid)
    reads_as_a_language = match is not None and match.coherence > 0  # coherence: how well its letters suit a language
    if 2 * len(invalid) > total or reads_as_a_language:
        counts = f"{len(invalid):,} of its first {total:,} lines"
        raise CorpusError(f"{label} is not UTF-8 ({counts}); {encoding_advice(data)}")


def _old_encoding(lines: Iterable[bytes]) -> "CharsetMatch | None":
    """Return the old encoding that `lines`, none of which is UTF-8, fit best; None if none fits."""
    from charset_normalizer import from_bytes  # for messages only

    return from_bytes(b"\n".join(lines), cp_isolation=list(_OLD_ENCODINGS)).best()
