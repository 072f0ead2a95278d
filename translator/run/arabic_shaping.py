"""Arabic script for terminals and pictures that do not shape it: letters in their joined forms, in visual order."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from translator.core import SPECIAL_TOKENS

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
_SPACE_MARK: Final = "␣"  # for a piece that is only a space
_LEFT_TO_RIGHT_OVERRIDE: Final = "\u202d"
_END_OF_OVERRIDE: Final = "\u202c"


def is_persian(text: str) -> bool:
    """Return whether most letters of `text` are of the Arabic script."""
    arabic = len(_ARABIC_LETTER.findall(text))
    return arabic > 0 and 2 * arabic >= sum(map(str.isalpha, text))


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
    special_pieces = {spelling for spelling, _ in SPECIAL_TOKENS}
    texts = []  # without the mark of a word's start; special tokens have no text
    continues = []  # whether the piece continues the word of the piece before it
    for piece in pieces:
        is_special = piece in special_pieces
        texts.append("" if is_special else piece.replace(WORD_START, " ").strip(" ") or _SPACE_MARK)
        continues.append(not is_special and not piece.startswith(WORD_START))

    labels = []
    for number, piece in enumerate(pieces):
        if piece in special_pieces:
            labels.append(piece)
            continue
        text = label = texts[number]
        # A letter takes its joined form beside a joiner, which stands for the neighbour in the other label.
        before = texts[number - 1] if number > 0 and continues[number] else ""
        after = texts[number + 1] if number + 1 < len(pieces) and continues[number + 1] else ""
        if _joins(before[-1:], text[:1]):
            label = _JOINER + label
        if _joins(text[-1:], after[:1]):
            label += _JOINER
        if before[-1:].isalpha() and text[:1].isalpha():
            label = "-" + label
        labels.append(_in_visual_order(label, right_to_left))
    return labels


def _joins(letter: str, following: str) -> bool:
    """Return whether a letter changes its shape before the `following` one; one of them may be missing."""
    return bool(letter and following) and shaped(letter + following)[:1] != shaped(letter)


def _in_visual_order(text: str, right_to_left: bool) -> str:
    """Return `text` shaped and in visual order, with a replacement for characters that the font lacks."""
    from bidi.algorithm import get_display  # `bidi.get_display` does not mirror brackets
    from matplotlib import font_manager

    # 1. The direction is that of the letters, or of the sentence for text without letters.
    directions = {unicodedata.bidirectional(letter) for letter in text}
    is_leftwards = bool(directions & {"R", "AL"}) or (right_to_left and "L" not in directions)

    # 2. Shape and order.
    safe_text = ""
    for letter in text:
        safe_text += letter if letter.isprintable() or letter in _INVISIBLE else _REPLACEMENT
    visual_text = get_display(shaped(safe_text), base_dir="R" if is_leftwards else "L")

    # 3. Keep what the font can draw.
    glyphs = font_manager.get_font(font_manager.findfont(FONT)).get_charmap()
    drawn_text = ""
    for letter in visual_text:
        if letter not in _INVISIBLE:
            drawn_text += letter if ord(letter) in glyphs else _REPLACEMENT
    return f"{_LEFT_TO_RIGHT_OVERRIDE}{drawn_text}{_END_OF_OVERRIDE}"
