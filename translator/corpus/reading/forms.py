"""The texts of a corpus, files or members of a zip, and the form of each, as its name and its first bytes tell it."""

import re
import shlex
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from translator.corpus.reading.lines import read_lines
from translator.corpus.reading.packing import read_blocks
from translator.errors import CorpusError
from translator.run.text import excerpt

_PACKED: Final = re.compile(r"\.(gz|xz|zst)$", re.IGNORECASE)
_JSON_DOCUMENT: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*\n")  # an object whose members begin on the next line


class Form(StrEnum):
    """The form of a file with both sides."""

    TSV = "TSV"
    CSV = "CSV"
    JSON_LINES = "JSON Lines"
    PARQUET = "Parquet"
    TMX = "TMX"
    PO = "PO"
    MO = "MO"


_FORMS: Final = {
    ".tsv": Form.TSV,
    ".csv": Form.CSV,
    ".jsonl": Form.JSON_LINES,
    ".ndjson": Form.JSON_LINES,
    ".json": Form.JSON_LINES,
    ".parquet": Form.PARQUET,
    ".tmx": Form.TMX,
    ".po": Form.PO,
    ".mo": Form.MO,
}


def without_packing(name: str) -> str:
    """Return the name of a file without the suffix of its compression."""
    return _PACKED.sub("", name)


def form_of(name: str) -> Form | None:
    """Return the form that the name of a file tells, perhaps before that of a compression; None for other names."""
    return _FORMS.get(Path(without_packing(name)).suffix.lower())


class TextFile(NamedTuple):
    """One text of a corpus: a file, or a member of a zip."""

    file: Path
    member: str | None = None

    @property
    def label(self) -> str:
        """Name of the text in messages."""
        return str(self.file) if self.member is None else f"{self.file}, member {excerpt(self.member, 200)}"

    @property
    def name(self) -> str:
        """Name of the file or of the member."""
        return self.file.name if self.member is None else self.member

    def form(self) -> Form:
        """Return the form of a text that holds both sides; raise CorpusError for JSON that is not JSON Lines.

        Its name tells the form, and any other name means TSV.
        """
        form = form_of(self.name) or Form.TSV
        if form is not Form.JSON_LINES:
            return form

        # JSON that is one array or one object begins as no line of JSON Lines does.
        start = next(self.blocks(), b"")
        if start.lstrip().startswith(b"["):
            unpacked = Path(without_packing(self.name))
            raise CorpusError(
                f"{self.label} is one JSON array, and JSON Lines are needed, with an object on each line; convert it: "
                f"jq -c '.[]' {shlex.quote(unpacked.name)} > {shlex.quote(unpacked.stem)}.jsonl"
            )
        if _JSON_DOCUMENT.match(start):
            raise CorpusError(
                f"{self.label} is a JSON document, such as the texts of a program by key, and a corpus needs JSON "
                "Lines, with both texts in an object on each line; of two documents with the same keys, make it so: "
                "jq -cs '.[0] as $en | .[1] as $fa | $en | paths(strings) as $key | {en: getpath($key), "
                "fa: ($fa | getpath($key))} | select(.fa)' EN.json FA.json > pairs.jsonl"
            )
        return form

    def blocks(self) -> Iterator[bytes]:
        """Yield its bytes, unpacked."""
        return read_blocks(self.file, self.member)

    def lines(self, *, drop_invalid: bool = False, advice: str = "") -> Iterator[str]:
        """Return its lines; see `read_lines`."""
        return read_lines(self.blocks(), self.label, drop_invalid=drop_invalid, advice=advice)


# --- files whose text stands between lines for programs ---


class UnreadForm(NamedTuple):
    """A form of files whose texts stand among keys, times or tags that must stay as they are."""

    kind: str
    suffixes: tuple[str, ...]
    advice: str  # how its texts are translated
    start: re.Pattern[bytes] | None = None  # how such a file begins, if that tells it from text


def _by_table(commands: str) -> str:
    """Return the advice for a form of which these commands write the texts as a table."""
    return (
        f"with the Translate Toolkit, write its texts to a table (`{commands}; po2csv texts.po texts.csv`), and "
        "translate that with --column source"
    )


_UNREAD_FORMS: Final = (
    UnreadForm(
        kind="a file of subtitles",
        suffixes=(".srt", ".vtt"),
        start=re.compile(rb"\s*(?:WEBVTT\b|\d+\s*?\n\d+:\d\d:\d\d[.,]\d+ +-->)"),
        advice="save it under a name that ends in .srt or .vtt, and translate it with --input",
    ),
    UnreadForm(
        kind="a file of subtitles (.ass)",
        suffixes=(".ass", ".ssa"),
        start=re.compile(rb"\s*\[Script Info\]"),
        advice=_by_table("sub2po FILE texts.po"),
    ),
    UnreadForm(
        kind="a file of messages of a program (PO)",
        suffixes=(".po", ".pot"),
        start=re.compile(rb"(?:#[^\n]*\n|\s)*+msg(?:id|ctxt) \""),
        advice="save it under a name that ends in .po, and translate it with --input",
    ),
    UnreadForm(
        kind="a file of messages of a program (MO)",
        suffixes=(".mo",),
        advice="write it as PO (`msgunfmt FILE > texts.po`), and translate that with --input texts.po",
    ),
    UnreadForm(
        kind="a file of messages of a program (XLIFF)",
        suffixes=(".xlf", ".xliff", ".sdlxliff"),
        start=re.compile(rb"\s*<[^>]*>\s*<xliff\s|\s*<xliff\s"),
        advice=_by_table("xliff2po FILE texts.po"),
    ),
    UnreadForm(
        kind="a file of messages of a program (.strings, .properties or .resx)",
        suffixes=(".strings", ".properties", ".resx"),
        advice=_by_table("prop2po FILE texts.po"),
    ),
    UnreadForm(
        kind="a JSON object of texts by key, as programs have them",
        suffixes=(".arb",),
        start=re.compile(rb'\s*\{[^\S\n]*\n\s*"[^"\n]*"\s*:'),
        advice=_by_table("json2po FILE texts.po"),
    ),
)


def unread_form(name: str, start: bytes = b"") -> UnreadForm | None:
    """Return the form of a file that cannot be read as text, as its name or its first bytes show; None for others."""
    base = without_packing(name).lower()
    for form in _UNREAD_FORMS:
        if base.endswith(form.suffixes) or (form.start is not None and form.start.match(start)):
            return form
    return None
