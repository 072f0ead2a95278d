"""Paragraphs: the lines of a text that was wrapped at a column, joined."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from translator.errors import InputError
from translator.inference.files.line_reader import LONGEST_LINE, Block

_QUOTE: Final = re.compile(r"(?:\s*+>)*")  # of a mail
_ITEM: Final = re.compile(r"(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s|\||[\W_]+$")  # of a list, a heading, a table, a rule
_ALONE: Final = re.compile(r"\s*(?:#{1,6}\s|[\W_]+$)")  # a heading or a rule


def joined_paragraphs(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield `blocks` with the lines of each paragraph, up to a blank line, joined by spaces into one line.

    A list item, a heading, a row of a table, a rule and a quotation at another level begin a line; the marks of a
    quotation stay only before its first line. The lines are numbered anew; `invalid` has the numbers in the input.

    Raises InputError: a paragraph exceeds `LONGEST_LINE`.
    """
    first_line = 1
    paragraph: list[str] = []  # the lines of one that has not ended
    level = 0  # of its quotation
    invalid: list[int] = []
    for block in blocks:
        invalid += block.invalid
        texts: list[str] = []
        for line in block.texts:
            quote = _QUOTE.match(line)
            marks = quote[0] if quote else ""
            words = line[len(marks) :].strip()
            begins = marks.count(">") != level or _ITEM.match(words) or (paragraph and _ALONE.match(paragraph[0]))
            if paragraph and (begins or not words):
                texts.append(" ".join(paragraph))
                paragraph = []
            if words:
                paragraph.append(words if paragraph else line.rstrip())
                level = marks.count(">")
            else:
                texts.append(marks)
        if sum(map(len, paragraph)) > LONGEST_LINE:
            raise InputError(
                f"a paragraph before line {block.first_line + len(block.texts)} of the input is longer than "
                f"{LONGEST_LINE >> 20} MiB; put a blank line between paragraphs, or leave out --paragraphs"
            )
        if texts:
            yield Block(first_line=first_line, texts=texts, invalid=invalid)
            first_line += len(texts)
            invalid = []
    if paragraph:
        yield Block(first_line=first_line, texts=[" ".join(paragraph)], invalid=invalid)
