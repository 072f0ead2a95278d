"""The texts of a corpus: files, or members of a zip, read in place."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from translator.config import SourceConfig
from translator.corpus.reading.forms import Form, form_of, unread_form, without_packing
from translator.corpus.reading.lines import read_lines
from translator.corpus.reading.packing import members_of, packing_of, read_blocks
from translator.corpus.reading.parquet import MAGIC
from translator.corpus.sources import choose_members
from translator.errors import CorpusError
from translator.run.text import excerpt

_JSON_DOCUMENT: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*\n")  # an object whose members begin on the next line
_JSON_OBJECT: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"[^\t\n]*(\n|$)')  # on a first line without tabs


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
        """Return the form of a text that holds both sides; raise CorpusError if its name tells a wrong one."""
        form = form_of(self.name) or Form.TSV
        start = next(self.blocks(), b"")
        if start.startswith(MAGIC):
            if self.member is not None or packing_of(self.file) is not None:
                raise CorpusError(f"{self.label} is a packed Parquet file, which cannot be read in place; unpack it")
            return Form.PARQUET
        if form is Form.PARQUET:
            raise CorpusError(
                f"{self.label} is no Parquet file (it does not begin with PAR1); download or copy the file again"
            )
        if form is Form.JSON_LINES and start.lstrip().startswith(b"["):
            unpacked = Path(without_packing(self.name))
            raise CorpusError(
                f"{self.label} is one JSON array, and JSON Lines are needed, with an object on each line; convert it: "
                f"jq -c '.[]' {shlex.quote(unpacked.name)} > {shlex.quote(unpacked.stem)}.jsonl"
            )
        if form is Form.JSON_LINES and _JSON_DOCUMENT.match(start):
            raise _texts_by_key(self.label)
        if form in (Form.TSV, Form.CSV) and _JSON_OBJECT.match(start):
            raise CorpusError(f"{self.label} looks like JSON Lines, not {form}; give it a name that ends in .jsonl")
        return form

    def blocks(self) -> Iterator[bytes]:
        """Yield its bytes, unpacked."""
        return read_blocks(self.file, self.member)

    def lines(self, *, drop_invalid: bool) -> Iterator[str]:
        """Yield its lines; see `read_lines`."""
        advice = ", or set `invalid_utf8: drop` for this source to skip such lines"
        for lines in read_lines(self.blocks(), self.label, drop_invalid=drop_invalid, advice=advice):
            yield from lines


def texts_of(source: SourceConfig, files: Sequence[Path], label: str) -> list[TextFile]:
    """Return the two texts of a corpus, or the one that holds both sides.

    Raises CorpusError: a member of a zip is missing, or `source` names members and the corpus is no zip, or a name
        tells that the lines of a text are no texts.
    """
    texts = _texts_of(source, files, label)
    for text in texts:
        unread = unread_form(text.name)
        if unread is not None:
            raise CorpusError(
                f"{text.label} is {unread.kind}, which cannot be read as a corpus; write its texts to a TSV, with "
                "English, a tab and Persian on each line, or convert it to TMX"
            )
        if len(texts) == 2 and form_of(text.name) is Form.JSON_LINES:
            raise _texts_by_key(text.label)
    return texts


def _texts_of(source: SourceConfig, files: Sequence[Path], label: str) -> list[TextFile]:
    """Return the texts of a corpus, whatever their names tell."""
    if len(files) == 1 and packing_of(files[0]) == "zip archive":
        members = choose_members(files[0], members_of(files[0]), source.source_member, source.target_member)
        return [TextFile(files[0], member) for member in members]
    if source.source_member is not None:
        raise CorpusError(f"{label} is not a zip archive; `source_member` and `target_member` name members of a zip")
    return [TextFile(file) for file in files]


def _texts_by_key(label: str) -> CorpusError:
    return CorpusError(
        f"{label} is a JSON document, such as the texts of a program by key, and a corpus needs JSON Lines, with both "
        "texts in an object on each line; of two documents with the same keys, make it so: "
        "jq -cs '.[0] as $en | .[1] as $fa | $en | paths(strings) as $key | {en: getpath($key), "
        "fa: ($fa | getpath($key))} | select(.fa)' EN.json FA.json > pairs.jsonl"
    )
