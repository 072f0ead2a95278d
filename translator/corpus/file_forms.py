"""Forms of the files that hold both sides of a corpus, as their names tell them."""

import re
from enum import StrEnum
from pathlib import PurePath
from typing import Final

_PACKED: Final = re.compile(r"\.(gz|xz|zst)$", re.IGNORECASE)


class Form(StrEnum):
    """The form of a file with both sides."""

    TSV = "TSV"
    CSV = "CSV"
    JSON_LINES = "JSON Lines"
    PARQUET = "Parquet"
    TMX = "TMX"

    @property
    def has_columns(self) -> bool:
        """Whether its texts are in columns that a source can name."""
        return self is not Form.TMX


_FORMS: Final = {
    ".tsv": Form.TSV,
    ".csv": Form.CSV,
    ".jsonl": Form.JSON_LINES,
    ".ndjson": Form.JSON_LINES,
    ".json": Form.JSON_LINES,
    ".parquet": Form.PARQUET,
    ".tmx": Form.TMX,
}
_UNREAD: Final = {
    **dict.fromkeys((".srt", ".vtt", ".ass"), "a file of subtitles"),
    **dict.fromkeys((".po", ".pot", ".mo"), "a gettext file, with the messages of a program"),
    **dict.fromkeys((".xlf", ".xliff", ".sdlxliff"), "an XLIFF file of a translation program"),
    **dict.fromkeys((".properties", ".strings", ".resx", ".arb"), "a file with the texts of a program by key"),
}
"""Files whose lines are no texts, by their suffix."""


def unread_kind(name: str) -> str | None:
    """Return what a file is that cannot be read as text, such as "a file of subtitles"; None for other names."""
    return _UNREAD.get(PurePath(without_packing(name)).suffix.lower())


def without_packing(name: str) -> str:
    """Return the name of a file without the suffix of its compression."""
    return _PACKED.sub("", name)


def form_of(name: str) -> Form | None:
    """Return the form that the name of a file tells, perhaps before that of a compression; None for other names."""
    base = without_packing(name).lower()
    for suffix, form in _FORMS.items():
        if base.endswith(suffix):
            return form
    return None
