"""What is checked of texts: that they are valid before a translation, and what was lost after it."""

from collections.abc import Iterable, Sequence
from typing import Final

from translator.errors import InputError
from translator.run.logging import LOGGER
from translator.subword.markup import unescaped
from translator.subword.placeholders import lost_digits

_NUMBERS_SHOWN: Final = 10  # of lines, in a warning


def checked_texts(texts: Iterable[str], name: str) -> list[str]:
    """Return `texts` as a list; raise InputError, with the argument's `name`, for an item that is not valid text."""
    # A `str` is itself a sequence of texts: without this check, a single text would be translated letter by letter.
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        kind = type(texts).__name__
        raise InputError(f"{name} must be a list of texts, not of type {kind}; for one text, use translate(text)")
    listed = list(texts)
    for index, text in enumerate(listed):
        if not isinstance(text, str):
            raise InputError(f"{name}[{index}] is of type {type(text).__name__}, not str; decode or convert it first")
        # Python's texts can hold what no file can; better to say so now than when the output is written.
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                f"{name}[{index}] has a lone surrogate (half a character) at position {error.start}, which UTF-8 "
                "cannot write; remove it"
            ) from None
    return listed


def warn_of_lost_text(sources: Sequence[str], translations: Sequence[str], first_line: int) -> None:
    """Warn of the lines with a broken character (U+FFFD), and of those with a digit that is not in the translation."""
    broken_lines: list[int] = []
    lines_without_digit: list[int] = []
    for line, (source, translation) in enumerate(zip(sources, translations, strict=True), first_line):
        if "\ufffd" in source:
            broken_lines.append(line)
        if lost_digits(unescaped(source), translation):
            lines_without_digit.append(line)
    if broken_lines:
        LOGGER.warning(f"{listed_lines(broken_lines)}: bytes that are not UTF-8, or U+FFFD, are left out")
    if lines_without_digit:
        lines = listed_lines(lines_without_digit)
        LOGGER.warning(f"{lines}: a digit of the source is not in the translation; check these numbers")


def listed_lines(lines: Sequence[int]) -> str:
    """Return the numbers of `lines`, as a warning shows them."""
    numbers = ", ".join(map(str, lines[:_NUMBERS_SHOWN]))
    if len(lines) > _NUMBERS_SHOWN:
        numbers += f" and {len(lines) - _NUMBERS_SHOWN} more"
    return f"line{'s' if len(lines) > 1 else ''} {numbers}"
