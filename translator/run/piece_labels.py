"""Subword pieces as labels of pictures; matplotlib joins the Arabic letters of a label and orders them."""

import warnings
from collections.abc import Sequence
from typing import Final

WORD_START: Final = "▁"  # SentencePiece's mark for a piece that begins a word
FONT: Final = "DejaVu Sans"  # comes with matplotlib, and has the letters of the Arabic script
_JOINER: Final = "\u200d"
_SPACE_MARK: Final = "␣"  # for a piece that is only a space

# A character that the font lacks, such as a Chinese one, is drawn as a box.
warnings.filterwarnings("ignore", "Glyph .* missing from font")


def shown_pieces(pieces: Sequence[str]) -> list[str]:
    """Return a label for each piece of SentencePiece; that of a piece that continues a word begins with a hyphen.

    Arabic letters have the joined form that they have in their word.
    """
    labels = []
    next_pieces = [*pieces[1:], WORD_START]  # a word ends after the last piece
    for piece, next_piece in zip(pieces, next_pieces, strict=True):
        label = piece.removeprefix(WORD_START) or _SPACE_MARK
        # A piece that begins with a letter, without the mark, continues a word. An Arabic letter takes its joined form
        # beside a joiner, which stands for the neighbouring letter in the other label.
        if piece[:1].isalpha():
            label = f"-{_JOINER}{label}"
        if next_piece[:1].isalpha():
            label += _JOINER
        labels.append(label)
    return labels
