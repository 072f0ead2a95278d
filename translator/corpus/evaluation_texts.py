"""Texts for evaluation out of the files of their publishers: FLORES-200 and WMT24++.

A damaged file raises whatever its reader raises: the caller explains it.
"""

import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

Texts = dict[str, str]
"""Texts by the names of their files, such as `devtest.en`."""


def flores_texts(path: Path, parts: Sequence[str]) -> Texts:
    """Return both sides of each part from the tar.gz of FLORES-200."""
    texts: Texts = {}
    with tarfile.open(path) as tar:
        members = {Path(member.name).name: member for member in tar if member.isreg()}
        for part in parts:
            for language, side in (("eng_Latn", "en"), ("pes_Arab", "fa")):
                content = tar.extractfile(members[f"{language}.{part}"])
                assert content is not None
                texts[f"{part}.{side}"] = content.read().decode("utf-8")
    return texts


def wmt_texts(path: Path, parts: Sequence[str]) -> Texts:
    """Return both sides of the only part from JSON Lines with `source` and `target`, as those of WMT24++.

    Segments marked as `is_bad_source` are left out, as the publishers advise (Deutsch et al. 2025). A segment becomes
    one line.
    """
    (part,) = parts
    texts = {f"{part}.en": "", f"{part}.fa": ""}
    with path.open(encoding="utf-8") as lines:
        for segment in map(json.loads, lines):
            if not segment["is_bad_source"]:
                texts[f"{part}.en"] += segment["source"].replace("\n", " ") + "\n"
                texts[f"{part}.fa"] += segment["target"].replace("\n", " ") + "\n"
    return texts
