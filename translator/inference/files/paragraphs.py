"""Paragraphs: the lines of a text that was wrapped at a column, joined."""

import re
from collections.abc import Iterable
from typing import Final

from translator.inference.files.line_reader import Lines

_QUOTE: Final = re.compile(r"(?:\s*+>)*")  # of a mail
_ITEM: Final = re.compile(r"(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s|\||[\W_]+$")  # of a list, a heading, a table, a rule
_ALONE: Final = re.compile(r"\s*(?:#{1,6}\s|[\W_]+$)")  # a heading or a rule


def joined_paragraphs(lines: Iterable[str | None]) -> Lines:
    """Yield `lines`, with the lines of each paragraph joined by spaces into one; a blank line ends a paragraph.

    A list item, a heading, a row of a table, a rule and a quotation at another level begin a line; the marks of a
    quotation stay only before its first line.
    """
    paragraph: list[str] = []  # the lines of one that has not ended
    level = 0  # of its quotation
    for line in lines:
        if line is None:  # see `Lines`
            yield None
            continue
        quote = _QUOTE.match(line)
        marks = quote[0] if quote else ""
        words = line[len(marks) :].strip()
        is_other_level = marks.count(">") != level
        # A heading or a rule is a paragraph by itself, so any line after it begins another one.
        follows_heading = bool(paragraph) and _ALONE.match(paragraph[0])
        begins = is_other_level or _ITEM.match(words) or follows_heading
        if paragraph and (begins or not words):
            yield " ".join(paragraph)
            paragraph = []
        if words:
            paragraph.append(words if paragraph else line.rstrip())
            level = marks.count(">")
        else:  # a blank line, perhaps of a quotation
            yield marks
    if paragraph:
        yield " ".join(paragraph)
