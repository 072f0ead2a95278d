"""Texts for evaluation out of the files of their publishers: FLORES-200 and WMT24++."""

import tarfile
from collections.abc import Sequence
from pathlib import Path

from translator.corpus.reading.forms import TextFile
from translator.corpus.reading.lines import Pair
from translator.corpus.reading.tables import objects_of, text_in
from translator.errors import CorpusError

Texts = dict[str, bytes]
"""Texts by the names of their files, such as `devtest.en`."""


def flores_texts(path: Path, parts: Sequence[str]) -> Texts:
    """Return both sides of each part from the tar.gz of FLORES-200; raise CorpusError if one is missing."""
    names: dict[str, str] = {}  # of the texts, by those of the members
    for part in parts:
        names |= {f"eng_Latn.{part}": f"{part}.en", f"pes_Arab.{part}": f"{part}.fa"}
    texts: Texts = {}
    with tarfile.open(path, mode="r|gz") as tar:
        for member in tar:
            name = names.get(Path(member.name).name)
            content = tar.extractfile(member) if name is not None and member.isreg() else None
            if name is not None and content is not None:
                texts[name] = content.read()
    if len(texts) < len(names):
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
    for row in objects_of(TextFile(path).lines()):
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
