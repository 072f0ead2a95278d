"""Corpora of every form: whole ones give the pairs that were written, broken ones no pair of two rows.

FUZZ_INPUTS=20000 makes a long run.
"""

import contextlib
import csv
import html
import io
import json
import os
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from tests.support.corpora import PACKERS, Rows, one_line, zip_bytes
from translator.config import SourceConfig
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.pairs import read_pairs
from translator.errors import TranslatorError

INPUTS: Final = int(os.environ.get("FUZZ_INPUTS", "250"))
SNIPPETS: Final = (
    *(b'"', b'""', b'",', b',"', b",", b";", b"\t", b" ", b"\\"),
    *(b"\n", b"\r\n", b"\r", b"\n\n", b"\0", b"\xff", b"\xef\xbb\xbf"),
    *(b"{", b"}", b"[", b"]", b"{}", b"null", b"NaN", b"1e999", b"-", b"\\u0000", b"\\ud800", b"[" * 9999),
    *(b"<", b">", b"&", b"&a;", b"<tu>", b"</tu>", b"<!--", b"-->", b"</seg>"),
)
"""Bytes with a meaning in one of the forms."""
ENGLISH: Final = (
    "The garden is green",
    'He said: "Green, green"',
    "Green;\nas before",
    "red,green",
    "As <b> & c\u2028",
)
PERSIAN: Final = ("باغ سبز است", "او گفت: «سبز، سبز»", 'سبز "است"', "سبز،\nمثل پیش", "می\u200cرود")
TAG: Final = re.compile(r"\d{8}")


def tag(number: int) -> str:
    """Return digits for a pair, which damage does not turn into those of another."""
    return f"{number:02}{zlib.crc32(b'%d' % number) % 10**6:06}"


TAGS: Final = {tag(number) for number in range(100)}


def texts(generator: random.Random) -> Rows:
    """Return pairs whose sides begin and end with their tag, some with quotation marks, commas and line ends."""
    pairs = [(ENGLISH[0], PERSIAN[0])]  # the delimiter of a table is in all rows, a comma is not
    for _ in range(generator.randint(1, 40)):
        pairs.append((generator.choice(ENGLISH), generator.choice(PERSIAN)))
    return [
        (f"{tag(number)} {english} {tag(number)}", f"{tag(number)} {persian} {tag(number)}")
        for number, (english, persian) in enumerate(pairs)
    ]


def lines_of(texts: Iterable[str]) -> bytes:
    """Return a file with a line for each text."""
    return "".join(text.replace("\n", " ") + "\n" for text in texts).encode()


def tsv_bytes(rows: Rows) -> bytes:
    return lines_of("\t".join(row) for row in rows)


def csv_bytes(rows: Rows) -> bytes:
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    return stream.getvalue().encode()


def json_bytes(rows: Rows) -> bytes:
    return lines_of(json.dumps({"en": source, "fa": target}) for source, target in rows)


def tmx_bytes(rows: Rows) -> bytes:
    units = []
    for row in rows:
        english, persian = map(html.escape, row)
        variants = f'<tuv xml:lang="en"><seg>{english}</seg></tuv><tuv xml:lang="fa"><seg>{persian}</seg></tuv>'
        units.append(f"<tu>{variants}</tu>\n")
    return f"<tmx><body>{''.join(units)}</body></tmx>".encode()


def zip_of_sides(rows: Rows) -> bytes:
    sources, targets = zip(*rows, strict=True)
    return zip_bytes({"x/en.txt": lines_of(sources), "x/fa.txt": lines_of(targets)})


WRITERS: Final[dict[str, Callable[[Rows], bytes]]] = {
    "tsv": tsv_bytes,
    "csv": csv_bytes,
    "jsonl": json_bytes,
    "tmx": tmx_bytes,
    "zip": zip_of_sides,
}


def damaged(content: bytes, generator: random.Random) -> bytes:
    """Return `content` after a few changes, none as long as a text, most of them at the border of one."""
    for _ in range(generator.randint(1, 3)):
        borders = [place for place, byte in enumerate(content) if byte in b'\n\t",;{}:<>']
        start = generator.randint(0, len(content))
        if borders and generator.random() < 0.7:
            start = generator.choice(borders) + generator.randint(0, 1)
        if generator.random() < 0.05:
            content = content[:start]
            continue
        new = generator.choice((*generator.choices(SNIPPETS, k=3), generator.randbytes(1), b""))
        content = content[:start] + new + content[start + generator.choice((0, 0, 1, 2, 4)) :]
    return content


def is_row_of_csv(pair: Pair, content: bytes) -> bool:
    """Return whether Python's `csv` reads the pair too, from the whole file or from one of its lines.

    Damage can take the end of a line with the quotation mark of the next, or enclose two rows in quotation marks.
    """
    text = content.decode("utf-8-sig", "replace")
    for delimiter in ",;\t":
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
        for line in text.split("\n"):
            with contextlib.suppress(csv.Error):  # "\r" in the middle of a line
                rows += csv.reader([line], delimiter=delimiter)
        for row in rows:
            if [re.sub("[\r\n]+", " ", cell) for cell in row[:2]] == [pair.source, pair.target]:
                return True
    return False


def play(seed: int, folder: Path) -> str:
    """Read one file, whole or broken, and return the outcome."""
    generator = random.Random(seed)

    # 1. A file, perhaps damaged, packed and damaged again.
    form = generator.choice(list(WRITERS))
    rows = texts(generator)
    content = WRITERS[form](rows)
    is_whole = generator.random() < 0.2
    if not is_whole:
        content = damaged(content, generator)
    suffix = generator.choice(list(PACKERS)) if form != "zip" else ""
    packed = PACKERS[suffix](content)
    if suffix and not is_whole and generator.random() < 0.3:
        packed = damaged(packed, generator)
    path = folder / f"pairs.{form}{suffix}"
    path.write_bytes(packed)

    # 2. It is refused with a message, or each pair is of one row.
    invalid = generator.choice(["error", "drop"])
    source = SourceConfig.model_validate({"name": "text", "path": str(path), "invalid_utf8": invalid})
    try:
        pairs = list(read_pairs(source, note=lambda _: None))
    except TranslatorError as error:
        assert not is_whole
        one_line(str(error))
        return f"{form} refused"
    if is_whole:  # a line end in a text became a space
        expected = [(source.split(), target.split()) for source, target in rows]
        assert [(pair.source.split(), pair.target.split()) for pair in pairs] == expected
    for pair in pairs:
        text = f"{pair.source} {pair.target}"
        text.encode()  # fails for half a surrogate pair
        assert "\n" not in text
        assert pair.defect is None or not (pair.source and pair.target)
        is_aligned = len(TAGS.intersection(TAG.findall(text))) <= 1
        assert is_aligned or pair.defect or (form == "csv" and is_row_of_csv(pair, content)), pair
    return f"{form} read"


def test_a_corpus_is_read_correctly_or_refused(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(INPUTS):
        try:
            outcomes[play(seed, tmp_path)] += 1
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    assert set(outcomes) == {f"{form} {outcome}" for form in WRITERS for outcome in ("read", "refused")}
