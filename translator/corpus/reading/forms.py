"""Forms of the files that hold both sides of a corpus, as their names tell them, and of files that are not read."""

import re
from enum import StrEnum
from typing import Final, NamedTuple

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


# --- files whose text stands between lines for programs ---


class UnreadForm(NamedTuple):
    """A form of files whose texts stand among keys, times or tags that must stay as they are."""

    kind: str
    suffixes: tuple[str, ...]
    to_csv: str  # commands that write its texts as a table with the column `source`
    start: re.Pattern[bytes] | None = None  # how such a file begins, if that tells it from text


_UNREAD_FORMS: Final = (
    UnreadForm(
        kind="a file of subtitles",
        suffixes=(".srt", ".vtt", ".ass", ".ssa"),
        start=re.compile(rb"\s*(?:WEBVTT\b|\[Script Info\]|\d+\s*?\n\d+:\d\d:\d\d[.,]\d+ +-->)"),
        to_csv="sub2po FILE texts.po; po2csv texts.po texts.csv",
    ),
    UnreadForm(
        kind="a file of messages of a program (PO)",
        suffixes=(".po", ".pot"),
        start=re.compile(rb"(?:#[^\n]*\n|\s)*+msg(?:id|ctxt) \""),
        to_csv="po2csv FILE texts.csv",
    ),
    UnreadForm(
        kind="a file of messages of a program (MO)",
        suffixes=(".mo",),
        to_csv="msgunfmt FILE > texts.po; po2csv texts.po texts.csv",
    ),
    UnreadForm(
        kind="a file of messages of a program (XLIFF)",
        suffixes=(".xlf", ".xliff", ".sdlxliff"),
        start=re.compile(rb"\s*<[^>]*>\s*<xliff\s|\s*<xliff\s"),
        to_csv="xliff2po FILE texts.po; po2csv texts.po texts.csv",
    ),
    UnreadForm(
        kind="a file of messages of a program (.strings, .properties or .resx)",
        suffixes=(".strings", ".properties", ".resx"),
        to_csv="prop2po FILE texts.po; po2csv texts.po texts.csv",
    ),
    UnreadForm(
        kind="a JSON object of texts by key, as programs have them",
        suffixes=(".arb",),
        start=re.compile(rb'\s*\{[^\S\n]*\n\s*"[^"\n]*"\s*:'),
        to_csv="json2po FILE texts.po; po2csv texts.po texts.csv",
    ),
)


def unread_form(name: str, start: bytes = b"") -> UnreadForm | None:
    """Return the form of a file that cannot be read as text, as its name or its first bytes show; None for others."""
    base = without_packing(name).lower()
    for form in _UNREAD_FORMS:
        if base.endswith(form.suffixes) or (form.start is not None and form.start.match(start)):
            return form
    return None
