"""What stands in the files of a corpus, read once more in another way: whole, and with the standard library."""

import contextlib
import gzip
import io
import itertools
import lzma
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

import zstandard
from corpus.fuzz_cases import Case, Files

from translator.corpus.sources import Pair

Fault = Literal["damaged", "not UTF-8", "length", "columns"]

_BROKEN: Final = (
    *(EOFError, OSError, ValueError, NotImplementedError, RuntimeError, IndexError, OverflowError, KeyError),
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile, zstandard.ZstdError),
)
"""What is raised about damaged bytes."""


@dataclass
class Reading:
    """What one corpus holds up to the first fault, and all of its faults."""

    pairs: list[Pair] = field(default_factory=list)
    faults: set[Fault] = field(default_factory=set)
    texts: list[bytes] = field(default_factory=list)
    """All that was unpacked."""
    counts: tuple[int, int] | None = None
    """Lines of both sides."""


@dataclass
class _Line:
    text: str
    defect: str | None


def possible_readings(case: Case) -> list[tuple[Reading, ...]]:
    """Return what each corpus of the source holds; several answers only where names in an archive were damaged."""
    alternatives = []
    for group in _groups(case.files):
        if len(group) == 2:
            english, persian = (_unpacked(name, case.files[name]) for name in group)
            alternatives.append([_sides(english, persian, case)])
        elif group[0].endswith(".zip"):
            alternatives.append(_members(case.files[group[0]], case))
        else:
            alternatives.append([_table(_unpacked(group[0], case.files[group[0]]), case)])
    return list(itertools.product(*alternatives))


def _groups(files: Files) -> list[tuple[str, ...]]:
    """Return the names of the files of each corpus; ours are in order, an English file before its Persian one."""
    names = list(files)
    groups: list[tuple[str, ...]] = []
    while names:
        size = 2 if ".en" in names[0] else 1
        groups.append(tuple(names[:size]))
        del names[:size]
    return groups


def _unpacked(name: str, content: bytes) -> bytes | None:
    """Return the text of a file, or None where there is none to be had; zero bytes around a frame are padding."""
    unpack = next((unpack for suffix, unpack in _UNPACKERS.items() if name.endswith(suffix)), None)
    if unpack is None:
        return content
    for frames in (content.lstrip(b"\0"), content.strip(b"\0")):  # the last byte of a checksum may be zero too
        with contextlib.suppress(*_BROKEN):
            return unpack(frames) if frames else None
    return None


def _unpack_zstd(content: bytes) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True).read()


_UNPACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".zst": _unpack_zstd,
}


def _members(content: bytes, case: Case) -> list[Reading]:
    texts: list[tuple[str, bytes | None]] = []
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                try:
                    texts.append((member.filename, archive.read(member)))
                except _BROKEN:
                    texts.append((member.filename, None))
    except _BROKEN:
        return [_sides(None, None, case)]
    names = [(name.lower().removesuffix(".txt"), text) for name, text in texts]
    return [
        _sides(english, persian, case)
        for (source, english), (target, persian) in itertools.permutations(names, 2)
        if source.endswith("en") and target.endswith("fa")
    ]


def _sides(english: bytes | None, persian: bytes | None, case: Case) -> Reading:
    if english is None or persian is None:
        return Reading(faults={"damaged"})
    sides = _lines(english, case), _lines(persian, case)
    reading = Reading(texts=[english, persian], counts=(len(sides[0]), len(sides[1])))
    for number, (left, right) in enumerate(zip(*sides, strict=False), start=1):
        defect = left.defect or right.defect
        if case.invalid_utf8 == "error" and "invalid_utf8" in (left.defect, right.defect):
            break
        reading.pairs.append(Pair(number, "", "", defect) if defect else Pair(number, left.text, right.text))
    if len(sides[0]) != len(sides[1]):
        reading.faults.add("length")
    if case.invalid_utf8 == "error" and any(line.defect == "invalid_utf8" for side in sides for line in side):
        reading.faults.add("not UTF-8")
    return reading


def _table(content: bytes | None, case: Case) -> Reading:
    if content is None:
        return Reading(faults={"damaged"})
    reading = Reading(texts=[content])
    for number, line in enumerate(_lines(content, case), start=1):
        columns = line.text.split("\t")
        if line.defect == "invalid_utf8" and case.invalid_utf8 == "error":
            reading.faults.add("not UTF-8")
        elif line.defect is None and len(columns) != 2:
            reading.faults.add("columns")
        elif not reading.faults:
            reading.pairs.append(Pair(number, "", "", line.defect) if line.defect else Pair(number, *columns))
    return reading


def _lines(content: bytes, case: Case) -> list[_Line]:
    pieces = content.split(b"\n")
    whole = [piece[:-1] if piece[-1:] == b"\r" else piece for piece in pieces[:-1]] + [pieces[-1]] * bool(pieces[-1])
    lines = []
    for piece in whole:
        if len(piece) > case.limits.longest_line:
            lines.append(_Line("", "line_too_long"))
            continue
        try:
            text = piece.decode("utf-8")
        except UnicodeDecodeError:
            lines.append(_Line("", "invalid_utf8"))
            continue
        while text[:1] == "\ufeff":
            text = text[1:]
        lines.append(_Line(text, None))
    return lines
