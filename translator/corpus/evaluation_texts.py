"""Texts for evaluation out of the files of their publishers: FLORES-200 and WMT24++."""

import re
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic_core import from_json

from translator.errors import CorpusError

_LINE_BREAKS: Final = re.compile(r"[ \t]*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+[ \t]*")

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
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = from_json(line)
            is_bad = bool(row.get("is_bad_source", False))
            english = _LINE_BREAKS.sub(" ", row["source"])
            persian = _LINE_BREAKS.sub(" ", row["target"])
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            problem = "is not JSON with the texts `source` and `target`"
            raise CorpusError(f"{path}, line {number} {problem}") from error
        if not is_bad:
            english_lines.append(f"{english}\n")
            persian_lines.append(f"{persian}\n")
    if not english_lines:
        raise CorpusError(f"{path} has no segment")
    (part,) = parts
    return {f"{part}.en": "".join(english_lines).encode(), f"{part}.fa": "".join(persian_lines).encode()}
