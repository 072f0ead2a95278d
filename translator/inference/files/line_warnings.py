"""Warnings that name lines, such as those of digits that a translation has lost."""

from collections.abc import Sequence
from typing import Final

from translator.run.logging import LOGGER
from translator.subword.markup import unescaped
from translator.subword.placeholders import lost_digits

_NUMBERS_SHOWN: Final = 10  # of lines, in a warning


def warn_of_lost_digits(sources: Sequence[str], translations: Sequence[str], first_line: int) -> None:
    """Warn of the lines with a digit that is not in the translation."""
    lines: list[int] = []
    for line, (source, translation) in enumerate(zip(sources, translations, strict=True), first_line):
        if lost_digits(unescaped(source), translation):
            lines.append(line)
    if lines:
        LOGGER.warning(f"{listed_lines(lines)}: a digit of the source is not in the translation; check these numbers")


def listed_lines(lines: Sequence[int]) -> str:
    """Return the numbers of `lines`, as a warning shows them."""
    numbers = ", ".join(map(str, lines[:_NUMBERS_SHOWN]))
    if len(lines) > _NUMBERS_SHOWN:
        numbers += f" and {len(lines) - _NUMBERS_SHOWN} more"
    return f"line{'s' if len(lines) > 1 else ''} {numbers}"
