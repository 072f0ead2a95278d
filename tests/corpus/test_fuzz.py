"""Broken corpora: they never cause a traceback or a misaligned pair.

FUZZ_INPUTS=200000 makes a long run.
"""

import gzip
import itertools
import lzma
import os
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final
from unittest import mock

import zstandard

from tests.support.corpora import (
    PACKERS,
    Rows,
    folder_of,
    one_line,
    zip_bytes,
)
from translator.config import SourceConfig
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.packing import packing_of_bytes
from translator.corpus.reading.pairs import read_pairs
from translator.errors import TranslatorError

INPUTS: Final = int(os.environ.get("FUZZ_INPUTS", "1500"))
LINE: Final = 200  # bytes of the longest line in these tests
SNIPPETS: Final = (
    *(b"\0", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n", b"\t", b" ", b"\x0b", b"\x0c", b"\x1b[31m", b"\x1c", b"\x7f"),
    *(mark.encode() for mark in ("\u0085", "\u00a0", "\u200b", "\u200c", "\u2028", "\ufeff\ufeff", "\ufffd", "ي")),
    *(b"\xff", b"\xc0\x80", b"\xd8", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"x" * (LINE + 1)),
    *(b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"),
)
REFUSALS: Final = {
    "not UTF-8": r"line (\d+): not UTF-8; ",
    "no text": r"is not text|looks like UTF-|, and text is needed",
    "length": r" has ([\d,]+) lines, .* has ([\d,]+); line N of both sides must be a pair",
    "columns": r"rows do not have the right form|no column for each text",
    "swapped": r"the two sides are swapped",
    "other script": r"side is no (Persian|English): 0 of its first",
    "blank": r"blank on every line",
    "no line": r"it has no lines",
    "damaged": r"is damaged or truncated \(",
    "packed": r"is an unsupported .*; unpack it|is a zip archive; give it as `path`|cannot be decompressed",
    "members": r"has no table, TMX or pair of texts",
}
UNPACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".zst": lambda content: zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True).read(),
}


def mutated(content: bytes, generator: random.Random) -> bytes:
    """Return `content` after a few random changes, half of them at the border of a line or a column."""
    for _ in range(generator.randint(1, 3)):
        borders = [place for place, byte in enumerate(content) if byte in b"\n\t"]
        start = generator.randint(0, len(content))
        if borders and generator.random() < 0.5:
            start = generator.choice(borders) + generator.randint(0, 1)
        end = start + generator.choice((0, 0, 1, 4, 20))
        # A snippet or a byte, nothing, the text before, or the text itself a second time.
        new = generator.choice(
            (generator.choice(SNIPPETS), generator.randbytes(1), b"", content[start - 30 : start], content[start:end])
        )
        is_cut_off = generator.random() >= 0.95
        content = content[:start] if is_cut_off else content[:start] + new + content[end:]
    return content


def lines_of(content: bytes) -> list[tuple[str, str | None]]:
    """Return each line of a text and its defect, by a simple method that takes the whole text at once."""
    lines: list[tuple[str, str | None]] = []
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    *complete_pieces, last_piece = content.split(b"\n")
    pieces = [piece.removesuffix(b"\r") for piece in complete_pieces]
    if last_piece:
        pieces.append(last_piece)
    for piece in pieces:
        if len(piece) > LINE:
            lines.append(("", "line_too_long"))
        elif b"\0" in piece:
            lines.append(("", "invalid_utf8"))
        else:
            try:
                lines.append((piece.decode().lstrip("\ufeff"), None))
            except UnicodeDecodeError:
                lines.append(("", "invalid_utf8"))
    return lines


def is_blank(line: tuple[str, str | None] | None) -> bool:
    """Return whether a line with its defect is blank or, behind the end of the shorter side, missing."""
    if line is None:
        return True
    text, defect = line
    return defect is None and not text.strip()


def expected(texts: list[bytes], invalid: str) -> tuple[list[Pair], set[str]]:
    """Return the pairs of a table or of two texts, and all reasons to refuse them."""
    lines_of_sides = [lines_of(text) for text in texts]
    faults = set()

    # 1. Sides that are not UTF-8, or not of equal length after their blank lines at the end.
    defects = {defect for _, defect in itertools.chain.from_iterable(lines_of_sides)}
    if invalid == "error" and "invalid_utf8" in defects:
        faults.add("not UTF-8")
    rows = list(itertools.zip_longest(*lines_of_sides))
    while rows and all(map(is_blank, rows[-1])):
        rows.pop()
    if any(None in row for row in rows):
        faults.add("length")

    # 2. The pairs, in a table those of the usual number of columns.
    columns = 1 + most_tabs([text for text, defect in lines_of_sides[0] if defect is None])
    pairs = []
    for number, row in enumerate(rows, start=1):
        cells = [("", None) if cell is None else cell for cell in row]
        texts_of_row = [text for text, _ in cells]
        defect = next((defect for _, defect in cells if defect), None)
        if defect or not "".join(texts_of_row).strip():
            pairs.append(Pair(number, "", "", defect))
        elif len(texts) == 2:
            pairs.append(Pair(number, *texts_of_row))
        elif len(texts_of_row[0].split("\t")) == columns:
            pairs.append(Pair(number, *texts_of_row[0].split("\t")[:2]))
        else:
            pairs.append(Pair(number, texts_of_row[0], "", "bad_row"))

    # 3. A table with more bad rows than are dropped.
    bad_rows = sum(pair.defect == "bad_row" for pair in pairs)
    if bad_rows > 3 or bad_rows == len(pairs) > 0:
        faults.add("columns")
    return pairs, faults


def most_tabs(rows: list[str]) -> int:
    counts = Counter(row.count("\t") for row in rows if "\t" in row)
    return min((tabs for tabs in counts if counts[tabs] == max(counts.values())), default=1)


def sides(pairs: Rows) -> list[bytes]:
    """Return the text of either side."""
    english = "".join(f"{source}\n" for source, _ in pairs)
    persian = "".join(f"{target}\n" for _, target in pairs)
    return [english.encode(), persian.encode()]


def play(seed: int, folder: Path) -> str:
    """Read one corpus with random mistakes, compare the result with the files, and return the outcome."""
    generator = random.Random(seed)

    # 1. Two sides or a table, perhaps with mistakes in the text.
    pairs = [(f"The garden {n}.", f"باغ {n} سبز است.") for n in range(generator.randint(1, 12))]
    texts = sides(pairs)
    if generator.random() < 0.03:
        texts.reverse()
    is_table = generator.random() < 0.5
    if is_table:
        texts = ["".join(f"{source}\t{target}\n" for source, target in pairs).encode()]
    texts = [mutated(text, generator) if generator.random() < 0.6 else text for text in texts]

    # 2. The files, perhaps packed, perhaps damaged after that.
    suffixes = [generator.choice(list(PACKERS)) for _ in texts]
    files = [PACKERS[suffix](text) for suffix, text in zip(suffixes, texts, strict=True)]
    ends = [".tsv"] if is_table else [".en", ".fa"]
    names = [f"a{end}{suffix}" for end, suffix in zip(ends, suffixes, strict=True)]
    if not is_table and generator.random() < 0.4:
        names = ["a.zip"]
        files = [zip_bytes({"x/en.txt": texts[0], "x/fa.txt": texts[1]})]
        suffixes = [".zip"]
    damaged = generator.random() < 0.3
    if damaged:
        files = [mutated(content, generator) for content in files]
    invalid = generator.choice(("error", "drop"))
    for old in folder.iterdir():
        old.unlink()
    source = folder_of(folder, dict(zip(names, files, strict=True)))
    source = SourceConfig.model_validate(source.model_dump() | {"invalid_utf8": invalid})

    # 3. They are refused for a fault that they have, or read as they stand.
    expected_pairs, faults = expected(texts, invalid)
    try:
        pairs_read = list(read_pairs(source))
    except TranslatorError as error:
        message = one_line(str(error))
        kinds = [kind for kind, pattern in REFUSALS.items() if re.search(pattern, message)]
        assert kinds, f"a message of no known kind: {message}"
        kind = kinds[0]
        if not damaged:
            assert kind in faults or kind not in ("not UTF-8", "length", "columns", "damaged"), message
        return kind
    if damaged and names[0] != "a.zip":  # expect what the damaged files now contain
        unpacked = [
            UNPACKERS[suffix](content) if suffix and packing_of_bytes(content) else content
            for content, suffix in zip(files, suffixes, strict=True)
        ]
        expected_pairs, faults = expected(unpacked, invalid)
    assert not faults
    assert pairs_read == expected_pairs
    return "damaged, and read" if damaged else "read"


def test_corrupted_corpora_are_read_correctly_or_refused(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(INPUTS):
        with (
            mock.patch("translator.corpus.reading.packing.BLOCK", (1 << 17, 7, 50)[seed % 3]),
            mock.patch("translator.corpus.reading.lines.LONGEST_LINE", LINE),
        ):
            try:
                outcomes[play(seed, tmp_path)] += 1
            except Exception as error:
                error.add_note(f"seed {seed}")
                raise
    assert outcomes["read"] > INPUTS // 4
    assert set(outcomes) >= {"read", "not UTF-8", "length", "columns", "swapped", "damaged"}, outcomes
