"""A document: the texts to translate, and the form of their translations.

Whatever reads, translates and writes knows only its `blocks`. A file whose texts stand among what must stay, such as
subtitles, is translated as a whole: see `whole_files`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from translator.corpus.reading.column_texts import check_column
from translator.inference.files.line_reader import read_lines
from translator.inference.files.output_formats import OutputForm
from translator.inference.files.paragraphs import joined_paragraphs
from translator.run.files import storage_errors


class Block(NamedTuple):
    """Consecutive texts, which are translated together."""

    first_line: int  # number of the first, from 1
    texts: list[str]


@dataclass(frozen=True)
class Document:
    """Plain text: a text on each line, in each paragraph, or in each row of a table."""

    source: int | Path  # a file, or a descriptor
    form: OutputForm
    column: str | None = None  # of a table or JSON Lines, which is translated
    paragraphs: bool = False  # join the lines of each paragraph

    def check(self) -> None:
        """Refuse a file that is missing, unreadable or no text, or a wrong column; open no pipe.

        Raises StorageError, CorpusError, InputError.
        """
        assert isinstance(self.source, Path)
        with storage_errors(self.source, "read"):
            if not self.source.is_fifo():
                self.source.open("rb").close()
        if self.source.is_file():
            next(read_lines(self.source), None)  # raises first if the form of the file is not read at all
            check_column(self.source, self.column)
            next(self.blocks(1), None)

    def blocks(self, size: int) -> Iterator[Block]:
        """Yield the texts; a file gives blocks of `size` texts, a pipe what has arrived."""
        lines = read_lines(self.source, self.column)
        if self.paragraphs:
            lines = joined_paragraphs(lines)
        block = Block(first_line=1, texts=[])
        for line in lines:
            if line is not None:
                block.texts.append(line)
            if block.texts and (line is None or len(block.texts) == size):
                yield block
                block = Block(first_line=block.first_line + len(block.texts), texts=[])
        if block.texts:
            yield block
