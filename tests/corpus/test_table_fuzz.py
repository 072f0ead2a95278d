"""Broken tables of every form: only errors of our own, and no pair with the sides of two.

FUZZ_INPUTS=20000 makes a long run.
"""

import contextlib
import csv
import importlib.util
import io
import json
import os
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

from tests.support.corpora import PACKERS, Rows, one_line
from translator.config import SourceConfig
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.pairs import read_pairs
from translator.errors import TranslatorError

INPUTS: Final = int(os.environ.get("FUZZ_INPUTS", "200"))
HAS_PYARROW: Final = importlib.util.find_spec("pyarrow") is not None
TABLE_SNIPPETS: Final = (b'"', b'""', b'",', b',"', b",", b";", b"\t", b" ", b"\\")
LINE_SNIPPETS: Final = (b"\n", b"\r\n", b"\r", b"\n\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"PAR1")
JSON_SNIPPETS: Final = (b"{", b"}", b"[", b"]", b"{}", b"null", b"NaN", b"1e999", b"-", b"\\u0000", b"\\ud800")
SNIPPETS: Final = (*TABLE_SNIPPETS, *LINE_SNIPPETS, *JSON_SNIPPETS, b"[" * 9999)
"""Bytes with a meaning in one of the forms."""
VALUES: Final[tuple[Any, ...]] = (None, "", 7, True, [], [None], {}, "x", "\ud800", "\0", ["a", "b"], 10**400)
"""Values that stand for a text."""
TAG: Final = re.compile(r"\d{8}")


def tag(number: int) -> str:
    """Return digits for a pair, which damage does not turn into those of another."""
    return f"{number:02}{zlib.crc32(b'%d' % number) % 10**6:06}"


def tags_in(text: str) -> set[str]:
    valid_tags = {tag(number) for number in range(100)}
    return valid_tags.intersection(TAG.findall(text))


def texts(generator: random.Random) -> Rows:
    """Return pairs whose sides begin and end with their tag, some with quotation marks, commas and line ends."""
    rows = []
    for number in range(generator.randint(2, 40)):
        english = generator.choice(["The garden is green", 'He said: "Green, green"', "Green;\nas before", "a,b"])
        persian = generator.choice(["باغ سبز است", "او گفت: «سبز، سبز»", 'سبز "است"', "سبز،\nمثل پیش"])
        rows.append((f"{tag(number)} {english} {tag(number)}", f"{tag(number)} {persian} {tag(number)}"))
    return rows


def tsv_bytes(rows: Rows, generator: random.Random) -> bytes:
    names = generator.choice(["", "score\ten\tfa\n"])
    lines = [f"{generator.random():.3f}\t{source}\t{target}".replace("\n", " ") for source, target in rows]
    return (names + "".join(f"{line}\n" for line in lines)).encode()


def csv_bytes(rows: Rows, generator: random.Random) -> bytes:
    quoting: Literal[0, 1] = generator.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    stream = io.StringIO()
    end = generator.choice(["\n", "\r\n"])
    writer = csv.writer(stream, quoting=quoting, delimiter=generator.choice(",;\t"), lineterminator=end)
    if generator.random() < 0.5:
        writer.writerow(["en", "fa"])
    writer.writerows(rows)
    return stream.getvalue().encode()


def json_bytes(rows: Rows, generator: random.Random) -> bytes:
    nested = generator.random() < 0.5
    lines = []
    for source, target in rows:
        texts: dict[str, Any] = {"en": source, "fa": target}
        if generator.random() < 0.03:
            texts[generator.choice(["en", "fa"])] = generator.choice(VALUES)
        if generator.random() < 0.01:
            del texts["fa"]
        value = {"id": 1, "translation": texts} if nested else texts
        lines.append(json.dumps(value, ensure_ascii=generator.random() < 0.5) + "\n")
    return "".join(lines).encode("utf-8", "surrogatepass")


def parquet_bytes(rows: Rows, generator: random.Random) -> bytes:
    import pyarrow
    from pyarrow import parquet

    values: list[Any] = [{"en": source, "fa": target} for source, target in rows]
    if generator.random() < 0.3:
        values[generator.randrange(len(values))] = generator.choice([None, {"en": None, "fa": ""}])
    if generator.random() < 0.1:
        # Bytes that are not UTF-8, as a column of bytes or of strings.
        english = [source.encode() + b"\xff" for source, _ in rows]
        persian = [target for _, target in rows]
        table = pyarrow.table({"en": english, "fa": persian})
        if generator.random() < 0.5:
            binary = table.column("en").combine_chunks()
            invalid = pyarrow.StringArray.from_buffers(len(binary), *binary.buffers()[1:])
            table = table.set_column(0, "en", invalid)
    else:
        table = pyarrow.table({"translation": values, "score": [generator.random() for _ in rows]})
    stream = io.BytesIO()
    compression = generator.choice(["snappy", "none", "zstd"])
    size = generator.choice([3, 100])
    parquet.write_table(table, stream, compression=compression, row_group_size=size, write_page_checksum=True)
    return stream.getvalue()


WRITERS: Final[dict[str, Callable[[Rows, random.Random], bytes]]] = {
    "tsv": tsv_bytes,
    "csv": csv_bytes,
    "jsonl": json_bytes,
    **({"parquet": parquet_bytes} if HAS_PYARROW else {}),
}


def damaged(content: bytes, generator: random.Random) -> bytes:
    """Return `content` after a few changes, none as long as a text, most of them at the border of one."""
    for _ in range(generator.randint(1, 3)):
        borders = [place for place, byte in enumerate(content) if byte in b'\n\t",;{}:']
        start = generator.randint(0, len(content))
        if borders and generator.random() < 0.7:
            start = generator.choice(borders) + generator.randint(0, 1)
        if generator.random() < 0.05:
            content = content[:start]
            continue
        end = start + generator.choice((0, 0, 1, 2, 4))
        new = generator.choice((generator.choice(SNIPPETS), generator.choice(SNIPPETS), generator.randbytes(1), b""))
        content = content[:start] + new + content[end:]
    return content


def is_aligned(pair: Pair) -> bool:
    """Return whether the two sides have the text of one pair."""
    return len(tags_in(pair.source) | tags_in(pair.target)) <= 1


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
    """Read one broken file and return the outcome."""
    generator = random.Random(seed)

    # 1. A table, perhaps damaged, packed and damaged again, perhaps with the name of another form.
    form = generator.choice(list(WRITERS))
    written = WRITERS[form](texts(generator), generator)
    content = damaged(written, generator) if generator.random() < 0.85 else written
    suffix = generator.choice(list(PACKERS)) if form != "parquet" and generator.random() < 0.2 else ""
    packed = PACKERS[suffix](content)
    if suffix and generator.random() < 0.5:
        packed = damaged(packed, generator)
    name = f"pairs.{form}"
    if generator.random() < 0.03:
        name = f"pairs.{generator.choice(list(WRITERS))}"
    path = folder / f"{name}{suffix}"
    path.write_bytes(packed)

    # 2. A source entry, perhaps with a column for scores and columns for texts that may not exist.
    settings: dict[str, Any] = {"invalid_utf8": generator.choice(["error", "drop"])}
    if generator.random() < 0.1:
        settings["min_score"] = {"column": generator.choice([1, "score", "no"]), "at_least": 0.5}
    if generator.random() < 0.1:
        settings |= {"source_column": generator.choice(["en", 1, 2, "translation.en"]), "target_column": "fa"}
    source = SourceConfig(name="text", path=str(path), **settings)

    # 3. It is refused with a message, or each pair is of one row.
    try:
        pairs = list(read_pairs(source, note=lambda _: None))
    except TranslatorError as error:
        one_line(str(error))
        return f"{form} refused"
    finally:
        path.unlink()
    for pair in pairs:
        f"{pair.source}{pair.target}".encode()  # fails for half a surrogate pair
        assert "\n" not in pair.source + pair.target
        assert pair.defect is None or not (pair.source and pair.target)
        if pair.defect is None and "source_column" not in settings and name == f"pairs.{form}":
            assert is_aligned(pair) or (form == "csv" and is_row_of_csv(pair, content)), pair
    return f"{form} read"


def test_broken_tables_are_read_correctly_or_refused(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(INPUTS):
        try:
            outcomes[play(seed, tmp_path)] += 1
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    assert set(outcomes) == {f"{form} {outcome}" for form in WRITERS for outcome in ("read", "refused")}
