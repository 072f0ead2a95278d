"""Wrong bytes, drawn by a seed: what disks, editors, other programs and people do to files."""

import random
from collections.abc import Callable
from typing import Final

SIGNATURES: Final = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"BZh91AY&SY")
"""First bytes of packed files."""

SNIPPETS: Final = (
    *(b"\0", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n", b"\t", b" ", b"\x0b", b"\x0c", b"\x1b[31m", b"\x1c", b"\x7f"),
    *(mark.encode() for mark in ("\u0085", "\u00a0", "\u00ad", "\u200b", "\u200c", "\u200f", "\u2028", "\u2029")),
    *(mark.encode() for mark in ("\ufeff\ufeff", "\ufffd", "\ufffe", "\U000e0001", "\U0010ffff", "\u064b", "يكة")),
    *(b"\xff", b"\xfe", b"\xc0\x80", b"\xd8", b"\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80", b"\xf0\x9f"),
    *(b"&#10;", b"&quot;", b"&amp;#10;", b"&#124;", b"&#x2028;", b"<br>", b"| |"),
    *(text.encode() for text in ("â€¨", "Ø³Ù„Ø§Ù…", "\u00c2\u0085", "Â\u00a0", "ï»¿", "\u00ef\u00bf\u00bd")),
    *SIGNATURES,
)
"""Bytes with a meaning that some program mistakes: line ends, marks, halves of characters, escapes, mojibake."""

Mutation = Callable[[bytes, random.Random], bytes]


def mutated(content: bytes, generator: random.Random, most: int = 3) -> bytes:
    """Return `content` after 1 to `most` random changes, of at most a few thousand bytes each."""
    for _ in range(generator.randint(1, most)):
        content = generator.choice(_MUTATIONS)(content, generator)
    return content


def _place(content: bytes, generator: random.Random) -> int:
    """Return an offset; half of the time at the border of a line or a column, where mistakes live."""
    if generator.random() < 0.5:
        borders = [place for place, byte in enumerate(content) if byte in b"\n\t"]
        if borders:
            return generator.choice(borders) + generator.randint(0, 1)
    return generator.randint(0, len(content)) if generator.random() < 0.9 else 0


def _span(content: bytes, generator: random.Random, longest: int = 20) -> tuple[int, int]:
    start = _place(content, generator)
    return start, min(len(content), start + generator.randint(1, longest))


def _flip_bit(content: bytes, generator: random.Random) -> bytes:
    if not content:
        return content
    place = generator.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << generator.randrange(8)]) + content[place + 1 :]


def _insert_byte(content: bytes, generator: random.Random) -> bytes:
    place = _place(content, generator)
    return content[:place] + generator.randbytes(1) + content[place:]


def _insert_snippet(content: bytes, generator: random.Random) -> bytes:
    place = _place(content, generator)
    return content[:place] + generator.choice(SNIPPETS) * generator.choice((1, 1, 1, 2, 40)) + content[place:]


def _replace_by_snippet(content: bytes, generator: random.Random) -> bytes:
    start, end = _span(content, generator, 4)
    return content[:start] + generator.choice(SNIPPETS) + content[end:]


def _snippet_in_every_line(content: bytes, generator: random.Random) -> bytes:
    snippet = generator.choice(SNIPPETS)
    return content.replace(b"\n", snippet + b"\n" if generator.random() < 0.5 else b"\n" + snippet)


def _delete(content: bytes, generator: random.Random) -> bytes:
    start, end = _span(content, generator)
    return content[:start] + content[end:]


def _duplicate(content: bytes, generator: random.Random) -> bytes:
    start, end = _span(content, generator)
    return content[:end] + content[start:end] * generator.choice((1, 1, 3, 100)) + content[end:]


def _truncate(content: bytes, generator: random.Random) -> bytes:
    return content[: generator.randint(0, len(content))]


def _splice(content: bytes, generator: random.Random) -> bytes:
    """Go on from somewhere else, as a download does that was resumed at the wrong place."""
    return content[: _place(content, generator)] + content[_place(content, generator) :]


def _mutate_lines(content: bytes, generator: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    place, other = generator.randrange(len(lines)), generator.randrange(len(lines))
    what = generator.randrange(4)
    if what == 0:
        del lines[place]
    elif what == 1:
        lines.insert(other, lines[place])
    elif what == 2:
        lines[place], lines[other] = lines[other], lines[place]
    else:
        lines[place] = b"\n" if lines[place].endswith(b"\n") else b""
    return b"".join(lines)


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    _flip_bit,
    _insert_byte,
    _insert_snippet,
    _insert_snippet,
    _insert_snippet,
    _replace_by_snippet,
    _snippet_in_every_line,
    _delete,
    _duplicate,
    _truncate,
    _splice,
    _mutate_lines,
)
