"""From blocks of bytes to lines of text, with every defect told by line and byte offset."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from translator.errors import CorpusError

LONGEST_LINE: Final = 1 << 20
"""Bytes of a line, its end not counted; what is longer is no sentence."""

LINE_TOO_LONG: Final = "line_too_long"
INVALID_UTF8: Final = "invalid_utf8"

_BOM: Final = b"\xef\xbb\xbf"


class Run(NamedTuple):
    """Some lines that follow one another."""

    texts: list[str]
    defects: dict[int, str]
    """What is wrong with a line, by its place in `texts`; its text is empty."""


def read_lines(blocks: Iterator[bytes], label: str, *, drop_invalid: bool) -> Iterator[Run]:
    """Yield the lines of a text, many at a time; memory stays flat whatever their length.

    A line ends at "\\n" or "\\r\\n" and nowhere else; byte order marks at its start are dropped.

    Args:
        blocks: of the text's bytes; each shorter than a line may be.
        label: what to call the text in messages.
        drop_invalid: a line that is not UTF-8 is a defect instead of an error.

    Raises:
        CorpusError: a line is not UTF-8; the lines before it have been yielded.
    """
    number, offset = 1, 0  # of the first line that is not yielded yet
    begun = b""
    given_up = 0  # bytes of a line that is too long already, and not kept
    for block in blocks:
        assert len(block) <= LONGEST_LINE
        data = begun + block
        if given_up or len(data) > LONGEST_LINE:
            first = data.find(b"\n")
            if first < 0:
                if given_up or len(data) > LONGEST_LINE + 1:  # one byte more may be the carriage return
                    given_up, data = given_up + len(data), b""
                begun = data
                continue
            if given_up or len(data[:first].removesuffix(b"\r")) > LONGEST_LINE:
                yield Run([""], {0: LINE_TOO_LONG})
                number, offset = number + 1, offset + given_up + first + 1
                given_up, data = 0, data[first + 1 :]
        end = data.rfind(b"\n") + 1
        begun = data[end:]
        if end:
            for run in _decode(data[:end], label, number, offset, drop_invalid):
                yield run
                number += len(run.texts)
            offset += end
    if given_up or len(begun) > LONGEST_LINE:
        yield Run([""], {0: LINE_TOO_LONG})
    elif begun:
        yield from _decode(begun, label, number, offset, drop_invalid)


def _decode(whole: bytes, label: str, number: int, offset: int, drop_invalid: bool) -> Iterator[Run]:
    try:
        # one byte is looked for many times faster than several
        text = (whole.replace(b"\r\n", b"\n") if b"\r" in whole else whole).decode("utf-8")
    except UnicodeDecodeError:
        yield from _decode_each(whole, label, number, offset, drop_invalid)
        return
    texts = text.split("\n")
    if not texts[-1]:
        del texts[-1]
    marked = _BOM[:1] in whole and _BOM in whole
    yield Run([line.lstrip("\ufeff") for line in texts] if marked else texts, {})


def _decode_each(whole: bytes, label: str, number: int, offset: int, drop_invalid: bool) -> Iterator[Run]:
    run = Run([], {})
    for line in whole.removesuffix(b"\n").split(b"\n"):
        try:
            text = line.removesuffix(b"\r").decode("utf-8")
            run.texts.append(text.lstrip("\ufeff"))
        except UnicodeDecodeError as error:
            if not drop_invalid:
                yield run
                raise CorpusError(
                    f"{label}, line {number + len(run.texts)}: not UTF-8 (byte 0x{line[error.start]:02x} at byte "
                    f"offset {offset + error.start:,} of the text); convert the file to UTF-8 first, or set "
                    "`invalid_utf8: drop` for this source to leave such lines out"
                ) from error
            run.defects[len(run.texts)] = INVALID_UTF8
            run.texts.append("")
        offset += len(line) + 1
    yield run
