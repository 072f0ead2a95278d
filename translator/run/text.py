"""Text for terminals, logs and pictures: escaping, tables, excerpts, and shaping of Arabic script."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from translator.special_tokens import SPECIAL_TOKENS

_STEERING: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of control characters, invisible format characters, lone surrogates and line separators."""
_HARMLESS: Final = "\n\t\u200c\u200d"  # allowed in messages: line ends, tabs, ZWNJ and ZWJ
_LAM_ALEF: Final = {
    lam + alef: chr(ligature + form)
    for alef, ligature in {"\ufe82": 0xFEF5, "\ufe84": 0xFEF7, "\ufe88": 0xFEF9, "\ufe8e": 0xFEFB}.items()
    for form, lam in enumerate(("\ufedf", "\ufee0"))  # alone, and after a letter that joins
}
"""Shaped lam and alef side by side, and the ligature that replaces them."""
WORD_START: Final = "▁"  # SentencePiece's mark for a piece that begins a word
FONT: Final = "DejaVu Sans"  # comes with matplotlib, and has the shaped forms of the Arabic script
_JOINER: Final = "\u200d"
_ARABIC_LETTER: Final = re.compile("[\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]")
_INVISIBLE: Final = (_JOINER, "\u200c")
_REPLACEMENT: Final = "\ufffd"


def is_persian(text: str) -> bool:
    """Return whether most letters of `text` are of the Arabic script."""
    arabic = len(_ARABIC_LETTER.findall(text))
    return arabic > 0 and 2 * arabic >= sum(map(str.isalpha, text))


def printable(text: str) -> str:
    r"""Return `text` with control characters, escape codes and bidi controls escaped, for printing to a terminal.

    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return "".join(
        one if one in _HARMLESS or unicodedata.category(one) not in _STEERING else ascii(one)[1:-1] for one in text
    )


def excerpt(text: str, longest: int) -> str:
    """Return `text` cut to `longest` characters, on one line, and escaped as by `printable`."""
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> str:
    """Return `rows` under `header` and a rule; the first `text_columns` are left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if number < text_columns else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in (header, *rows)
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def shaped(text: str) -> str:
    """Return `text` with Arabic letters in their contextual shapes, in logical order.

    >>> [f"{ord(letter):X}" for letter in shaped("لا")]
    ['FEFB']
    """
    letters = str(_reshaper().reshape(text))
    for pair, ligature in _LAM_ALEF.items():
        letters = letters.replace(pair, ligature)
    return letters


@cache
def _reshaper() -> Any:
    """Return a shaper without ligatures: arabic-reshaper (3.1.0) misplaces them after a joiner, or raises."""
    import arabic_reshaper

    return arabic_reshaper.ArabicReshaper({"support_ligatures": False})


def shown_pieces(pieces: Sequence[str], *, right_to_left: bool = False) -> list[str]:
    """Return subword pieces as labels, letters joined as in their word, in visual order.

    A piece that continues a word begins with a hyphen. A direction override encloses each label, because matplotlib
    3.11 and later orders and shapes text itself and would reverse the labels again.

    Args:
        pieces: as SentencePiece gives them.
        right_to_left: direction of the sentence, for pieces without letters, such as mirrored brackets.
    """
    special = {spelling for spelling, _ in SPECIAL_TOKENS}
    texts = ["" if piece in special else piece.replace(WORD_START, " ").strip(" ") or "␣" for piece in pieces]
    inside = [not piece.startswith(WORD_START) and piece not in special for piece in pieces]
    after = [text if continues else "" for text, continues in zip(texts[1:], inside[1:], strict=True)]
    labels = []
    for piece, before, text, following, continues in zip(
        pieces, ["", *texts[:-1]], texts, [*after, ""], inside, strict=True
    ):
        label = text
        if continues and _joins(before[-1:], text[:1]):
            label = _JOINER + label
        if _joins(text[-1:], following[:1]):
            label += _JOINER
        if continues and before[-1:].isalpha() and text[:1].isalpha():
            label = "-" + label
        labels.append(piece if piece in special else _drawn(label, right_to_left))
    return labels


def _joins(left: str, right: str) -> bool:
    """Return whether the letter `left` changes its shape before `right`."""
    return bool(left and right) and shaped(left + right)[:1] != shaped(left)


def _drawn(text: str, right_to_left: bool) -> str:
    """Return `text` shaped and in visual order, with a replacement for characters that the font lacks."""
    from bidi.algorithm import get_display  # `bidi.get_display` does not mirror brackets
    from matplotlib import font_manager

    directions = {unicodedata.bidirectional(letter) for letter in text}
    leftwards = bool(directions & {"R", "AL"}) or (right_to_left and "L" not in directions)
    printable = (letter if letter.isprintable() or letter in _INVISIBLE else _REPLACEMENT for letter in text)
    visual = get_display(shaped("".join(printable)), base_dir="R" if leftwards else "L")
    glyphs = font_manager.get_font(font_manager.findfont(FONT)).get_charmap()
    letters = (letter if ord(letter) in glyphs else _REPLACEMENT for letter in visual if letter not in _INVISIBLE)
    return f"\u202d{''.join(letters)}\u202c"
