"""The texts of a corpus: files, or members of a zip, read in place."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from translator.config import SourceConfig
from translator.corpus.compression import members_of, packing_of, read_blocks
from translator.corpus.file_forms import Form, form_of, without_packing
from translator.corpus.lines import read_lines
from translator.corpus.parquet import MAGIC
from translator.corpus.sources import choose_members
from translator.errors import CorpusError
from translator.run.text import excerpt

_JSON_OBJECT: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"[^\t\n]*(\n|$)')  # on a first line without tabs


class TextFile(NamedTuple):
    """One text of a corpus: a file, or a member of a zip."""

    file: Path
    member: str | None = None

    @property
    def label(self) -> str:
        """Name of the text in messages."""
        return str(self.file) if self.member is None else f"{self.file}, member {excerpt(self.member, 200)}"

    def form(self) -> Form:
        """Return the form of a text that holds both sides; raise CorpusError if its name tells a wrong one."""
        name = self.file.name if self.member is None else self.member
        form = form_of(name) or Form.TSV
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
            unpacked = Path(without_packing(name))
            raise CorpusError(
                f"{self.label} is one JSON array, and JSON Lines are needed, with an object on each line; convert it: "
                f"jq -c '.[]' {shlex.quote(unpacked.name)} > {shlex.quote(unpacked.stem)}.jsonl"
            )
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

    Raises CorpusError: a member of a zip is missing, or `source` names members and the corpus is no zip.
    """
    if len(files) == 1 and packing_of(files[0]) == "zip archive":
        members = choose_members(files[0], members_of(files[0]), source.source_member, source.target_member)
        return [TextFile(files[0], member) for member in members]
    if source.source_member is not None:
        raise CorpusError(f"{label} is not a zip archive; `source_member` and `target_member` name members of a zip")
    return [TextFile(file) for file in files]
