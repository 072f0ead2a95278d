"""The normalizer's rules that look at one character at a time; each returns the replacement of a character.

Before → after, for each rule, stands in its docstring. Characters are named by code point where they cannot be seen.
"""

import unicodedata
from typing import Final

VOWEL_MARKS: Final = frozenset(
    map(chr, (*range(0x0610, 0x061B), *range(0x064B, 0x0653), *range(0x0656, 0x0660), 0x0670))
) | frozenset(map(chr, (*range(0x06D6, 0x06DD), *range(0x06DF, 0x06E5), 0x06E7, 0x06E8, *range(0x06EA, 0x06EE))))
"""Short vowels, shadda, sukun, tanwin, the superscript alef and the signs of recitation; not madda and hamza."""
SPELLING_MARKS: Final = frozenset("\u064b")
"""Fathatan: modern Persian writes it (لطفاً, مثلاً), so it stays where the other marks go."""


_WHITE_SPACE: Final = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85")
_KEPT_INVISIBLE: Final = frozenset("\u200c\u2028\u2029") | _WHITE_SPACE
_ARABIC_SIGN_CODES: Final = (*range(0x0600, 0x0606), 0x06DD)
_TATWEEL: Final = "\u0640"


def arabic_letters(character: str) -> str:
    """Arabic yeh, alef maksura and kaf become Persian yeh and kaf: كتابي → کتابی, موسى → موسی; ئ and ة stay."""
    return _ARABIC_LETTERS.get(character, character)


_ARABIC_LETTERS: Final = {"\u064a": "\u06cc", "\u0649": "\u06cc", "\u0643": "\u06a9"}


def presentation_forms(character: str) -> str:
    """Shaped letters and ligatures become plain letters: ﻛﺘﺎب → كتاب, ﻻ → لا, ﷲ → الله, ﷼ → ریال.

    A shaped mark stays a mark. NFKC on U+FB50–U+FDFF and U+FE70–U+FEFE alone: it would turn … into ... as well.
    """
    code = ord(character)
    if not (0xFB50 <= code <= 0xFDFF or 0xFE70 <= code <= 0xFEFE):
        return character
    # Unicode gives a mark that stands alone a space or a tatweel to sit on; in text it belongs to the letter before it.
    return unicodedata.normalize("NFKC", character).lstrip(" " + _TATWEEL)


def tatweel(character: str) -> str:
    """The stretching stroke goes: کتـــاب → کتاب."""
    return "" if character == _TATWEEL else character


def vowel_marks(character: str) -> str:
    """Vowel marks go: کِتاب → کتاب, حتّی → حتی, رحمٰن → رحمن; what is spelling stays: آ, هٔ, ئ, لطفاً."""
    return "" if character in VOWEL_MARKS - SPELLING_MARKS else character


def zero_width(character: str) -> str:
    """Invisible characters other than ZWNJ go: a<U+200E>b → ab.

    These are controls, direction marks, ZWJ, U+200B, soft hyphens and byte order marks.
    """
    if character in _KEPT_INVISIBLE or ord(character) in _ARABIC_SIGN_CODES:
        return character
    return "" if unicodedata.category(character) in ("Cc", "Cf") else character


def persian_zero_width(character: str) -> str:
    """The same, but U+00AD becomes ZWNJ: بنی<U+00AD>اسرائیل; Persian has no hyphenation, and some texts write this."""
    return "\u200c" if character == "\u00ad" else zero_width(character)


def white_space(character: str) -> str:
    """Any white space becomes a plain space: tab, U+00A0, U+2009, U+2028, U+3000 and all others."""
    return " " if character.isspace() else character


def teh_marbuta(character: str) -> str:
    """Teh marbuta becomes heh: دایرة → دایره."""
    return "\u0647" if character == "\u0629" else character


def ascii_digits(character: str) -> str:
    """Persian and Arabic digits become ASCII: ۱۲٣ → 123."""
    return str(int(character)) if character in "۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩" else character


def persian_digits(character: str) -> str:
    """ASCII and Arabic digits become Persian: 12٣ → ۱۲۳ (for text that is known to hold no Latin letters)."""
    return "۰۱۲۳۴۵۶۷۸۹"[int(character)] if character in "0123456789٠١٢٣٤٥٦٧٨٩" else character
