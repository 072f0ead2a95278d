"""Texts for evaluation out of the files of their publishers: FLORES-200 and WMT24++."""

import tarfile
from collections.abc import Sequence
from pathlib import Path

from translator.corpus.reading.forms import Form, TextFile
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.tables import rows_of_lines, text_in
from translator.errors import CorpusError

Texts = dict[str, bytes]
"""Texts by the names of their files, such as `devtest.en`."""


def flores_texts(path: Path, parts: Sequence[str]) -> Texts:
    """Return both sides of each part from the tar.gz of FLORES-200; raise CorpusError if one is missing."""
    texts: Texts = {}
    with tarfile.open(path, mode="r|gz") as tar:
        for member in tar:
            name = Path(member.name).name  # such as `eng_Latn.devtest`
            for part in parts:
                for language, side in (("eng_Latn", "en"), ("pes_Arab", "fa")):
                    content = tar.extractfile(member) if member.isreg() and name == f"{language}.{part}" else None
                    if content is not None:
                        texts[f"{part}.{side}"] = content.read()
    if len(texts) < 2 * len(parts):
        raise CorpusError(f"{path} lacks a member like eng_Latn.{parts[0]} or pes_Arab.{parts[0]}")
    return texts


def wmt_texts(path: Path, parts: Sequence[str]) -> Texts:
    """Return both sides of the only part from JSON lines with `source` and `target`, as those of WMT24++.

    Segments marked as `is_bad_source` are left out, as the publishers advise (Deutsch et al. 2025). A segment becomes
    one line.

    Raises CorpusError: a line is not a segment, or there is none.
    """
    english_lines: list[str] = []
    persian_lines: list[str] = []
    for row in rows_of_lines(TextFile(path).lines(drop_invalid=False), Form.JSON_LINES):
        values = {} if isinstance(row, Pair) else row[1]
        english, persian = text_in(values.get("source")), text_in(values.get("target"))
        if english is None or persian is None:
            raise CorpusError(f"{path}, line {row[0]} is not JSON with the texts `source` and `target`")
        if not values.get("is_bad_source"):
            english_lines.append(f"{english}\n")
            persian_lines.append(f"{persian}\n")
    if not english_lines:
        raise CorpusError(f"{path} has no segment")
    (part,) = parts
    return {f"{part}.en": "".join(english_lines).encode(), f"{part}.fa": "".join(persian_lines).encode()}
