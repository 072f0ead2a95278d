"""Words of a Persian or English text, for diagnosis: without punctuation, half-spaces kept inside."""

import re
from typing import Final

ZWNJ: Final = "\u200c"
MARKS: Final = "\u064b-\u065f\u0670"
"""Vowel marks, for the inside of a character class; they are no letters to Python."""
WORD: Final = re.compile(rf"[^\W_]+(?:[{ZWNJ}\u200d{MARKS}'’]*[^\W_])*+")
"""A word or a number; a half-space, a vowel mark or an apostrophe inside is a part of it."""
_ONE_SPELLING: Final[dict[int, int | None]] = {
    **str.maketrans("يىكةۀ٠١٢٣٤٥٦٧٨٩", "ییکهه۰۱۲۳۴۵۶۷۸۹"),
    **dict.fromkeys([*range(0x64B, 0x660), 0x670, 0x640, 0x200D]),
}


def words_of(text: str) -> list[str]:
    """Return the words of `text`, in small letters."""
    return WORD.findall(text.lower())


def one_spelling(text: str) -> str:
    """Return `text` with one form of the letters that Arabic and Persian write in two ways, without vowel marks."""
    return text.translate(_ONE_SPELLING)
