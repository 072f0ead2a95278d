"""The picture of cross-attention: English pieces across, Persian pieces down, as their readers write them."""

import unicodedata
from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from bidi.algorithm import get_display  # the other one, `bidi.get_display`, mirrors no brackets

from translator.arabic_shapes import shaped
from translator.special_tokens import SPECIAL_TOKENS

WORD_START: Final = "▁"
"""SentencePiece's mark of a piece that begins a word."""
FONT: Final = "DejaVu Sans"
"""Comes with matplotlib, and has the shaped forms of the Arabic script."""
DOTS_PER_INCH: Final = 110
CELL_INCHES: Final = 0.3
LARGEST_INCHES: Final = 24.0
"""Longest side of the grid; the cells of a longer sentence are smaller."""

_JOINER = "\u200d"
_INVISIBLE = (_JOINER, "\u200c")
_REPLACEMENT = "\ufffd"
_OVERRIDE_LEFT_TO_RIGHT, _END_OVERRIDE = "\u202d", "\u202c"
_CONTINUATION = "-"
_SPELLINGS = {spelling for spelling, _ in SPECIAL_TOKENS}


def attention_figure(
    source_pieces: Sequence[str], target_pieces: Sequence[str], weights: npt.NDArray[np.floating[Any]]
) -> npt.NDArray[np.uint8]:
    """Return a heat map of cross-attention as an RGB image, (height, width, 3).

    Args:
        source_pieces: S pieces of the English side.
        target_pieces: T pieces of the Persian side.
        weights: (T, S) share of attention that each target piece gives to each source piece, in [0, 1].
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # slow to import, and only pictures need it
    from matplotlib.figure import Figure

    rows, columns = weights.shape
    assert (rows, columns) == (len(target_pieces), len(source_pieces)), (
        "one row per target piece, one column per source"
    )
    cell = min(CELL_INCHES, LARGEST_INCHES / max(rows, columns))
    # Not pyplot: it would keep every figure of a long training in its global list.
    figure = Figure(figsize=(cell * columns + 3.0, cell * rows + 2.2), dpi=DOTS_PER_INCH, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    image = axes.imshow(weights, vmin=0.0, vmax=1.0, cmap="viridis", aspect="equal")
    font = {"fontfamily": FONT, "fontsize": min(11.0, 0.62 * cell * 72), "parse_math": False}
    axes.set_xticks(range(columns), shown_pieces(source_pieces), rotation=90, **font)
    axes.set_yticks(range(rows), shown_pieces(target_pieces, right_to_left=True), **font)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    figure.colorbar(image, ax=axes, shrink=min(1.0, 3.0 / (cell * rows)), label="attention")
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]


def shown_pieces(pieces: Sequence[str], *, right_to_left: bool = False) -> list[str]:
    """Return subword pieces as labels: letters joined as they are in their word, in the order in which they are drawn.

    A piece that goes on in a word has a hyphen before it. The labels are in visual order inside an override of
    direction: matplotlib orders and shapes text itself from 3.11 on, and would turn it round again.

    Args:
        pieces: as SentencePiece gives them.
        right_to_left: the direction of the sentence, for pieces without letters: brackets are mirrored in it.
    """
    texts = [_text(piece) for piece in pieces]
    labels = []
    for number, (piece, text) in enumerate(zip(pieces, texts, strict=True)):
        if piece in _SPELLINGS:
            labels.append(piece)
            continue
        before = texts[number - 1] if number and pieces[number - 1] not in _SPELLINGS else ""
        after = texts[number + 1] if number + 1 < len(pieces) and _continues(pieces[number + 1]) else ""
        inside = _continues(piece)
        if inside and _joins(before[-1:], text[:1]):
            text = _JOINER + text
        if _joins(text[-1:], after[:1]):
            text += _JOINER
        if inside and before[-1:].isalpha() and text.lstrip(_JOINER)[:1].isalpha():
            text = _CONTINUATION + text
        labels.append(_drawn(text, right_to_left))
    return labels


def _continues(piece: str) -> bool:
    """Return whether a piece goes on in the word that the piece before it began."""
    return not piece.startswith(WORD_START) and piece not in _SPELLINGS


def _text(piece: str) -> str:
    """Return what a reader would call the piece."""
    return piece.replace(WORD_START, " ").strip(" ") or "␣"


def _joins(left: str, right: str) -> bool:
    """Return whether the letter `left` takes another shape when `right` follows it."""
    return bool(left and right) and shaped(left + right)[:1] != shaped(left)


def _drawn(text: str, right_to_left: bool) -> str:
    """Return `text` shaped, in visual order, without anything that the font cannot draw."""
    has_latin = any(unicodedata.bidirectional(letter) == "L" for letter in text)
    has_persian = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text)
    leftwards = has_persian or (right_to_left and not has_latin)
    printable = (letter if letter.isprintable() or letter in _INVISIBLE else _REPLACEMENT for letter in text)
    visual = get_display(shaped("".join(printable)), base_dir="R" if leftwards else "L")
    glyphs = _glyphs()
    letters = (letter if ord(letter) in glyphs else _REPLACEMENT for letter in visual if letter not in _INVISIBLE)
    return f"{_OVERRIDE_LEFT_TO_RIGHT}{''.join(letters)}{_END_OVERRIDE}"


def _glyphs() -> Collection[int]:
    """Return the characters that the font can draw; matplotlib keeps the font in memory."""
    from matplotlib import font_manager

    return font_manager.get_font(font_manager.findfont(FONT)).get_charmap()
