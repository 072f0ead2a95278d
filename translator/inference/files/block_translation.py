"""Blocks of texts translated in order."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TextIO

from translator.inference.files.document import Document
from translator.inference.files.line_reader import Block
from translator.inference.files.output_formats import OutputForm
from translator.inference.text.checks import warn_of_lost_digits
from translator.run.logging import LOGGER
from translator.run.text import write_lines

if TYPE_CHECKING:  # a run-time import would slow the command line's help
    from translator.inference.translation import Translation
    from translator.inference.translator import Translator

LINES_AT_ONCE: Final = 1024  # fewer give the engine too little to sort by length


def translate_block(translator: "Translator", form: OutputForm, block: Block) -> "list[list[Translation]]":
    """Return the translations that `form` shows of each text of `block`, and warn of lost digits."""
    text_translations = translator.translations(
        block.texts,
        count=form.count,
        prefixes=[form.prefix] * len(block.texts) if form.prefix else None,
        attention=form.attention or form.alignment,
        first_line=block.first_line,
        scored=form.scores,
    )
    best = [translations[0].text if translations else "" for translations in text_translations]
    warn_of_lost_digits(block.texts, best, block.first_line)
    return text_translations


def translated_lines(translator: "Translator", form: OutputForm, block: Block) -> list[str]:
    """Return the lines of output for `block`."""
    return form.lines(block.first_line, block.texts, translate_block(translator, form, block))


def translate_stream(translator: "Translator", document: Document, output: TextIO) -> None:
    """Write the translation of a document to a standard stream, in order, and each block as soon as it is translated.

    Lines already waiting in a pipe are translated together; a line that arrives alone is translated immediately. The
    translations of all lines before an error are written.

    Raises:
        InputError, CorpusError: a line, or the whole text, cannot be read (see `read_lines`).
        StorageError: the input cannot be read, or the output cannot be written.
        BrokenPipeError: the reader of `output` has closed it.
    """
    for _, lines in translated_blocks(translator, document):
        write_lines(output, lines)


def translated_blocks(
    translator: "Translator", document: Document, finished_lines: int = 0
) -> Iterator[tuple[Block, list[str]]]:
    """Yield the blocks of a document after the first `finished_lines` texts, in order, with their lines of output.

    Raises InputError, CorpusError: the document cannot be read.
    """
    for block in document.blocks(max(LINES_AT_ONCE, translator.searcher.batch_rows)):
        if block.first_line <= finished_lines:
            continue
        numbers = block.invalid
        if numbers:
            more = f" and {len(numbers) - 1} more up to line {numbers[-1]}" if len(numbers) > 1 else ""
            LOGGER.warning(f"not UTF-8 in line {numbers[0]} of the input{more}: invalid bytes are left out")
        yield block, translated_lines(translator, document.form, block)
