"""A document: the texts to translate, and the form of their translations.

Whatever reads, translates and writes knows only its `blocks`. A file whose texts stand among what must stay, such as
subtitles, is translated as a whole: see `whole_files`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from translator.corpus.reading.column_texts import check_column
from translator.inference.files.line_reader import Block, read_lines
from translator.inference.files.output_formats import OutputForm
from translator.inference.files.paragraphs import joined_paragraphs
from translator.run.files import storage_errors


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
            next(read_lines(self.source, 1), None)  # a form that is not read at all is told first
            check_column(self.source, self.column)
            next(self.blocks(1), None)

    def blocks(self, size: int) -> Iterator[Block]:
        """Yield the texts; a file gives blocks of `size` texts, a pipe what has arrived."""
        blocks = read_lines(self.source, size, self.column)
        return joined_paragraphs(blocks) if self.paragraphs else blocks
