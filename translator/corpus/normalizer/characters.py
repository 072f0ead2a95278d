"""Rules of the normalizer for single characters: tables from a character to its replacement."""

import unicodedata
from typing import Final

ZWNJ: Final = "\u200c"
TATWEEL: Final = "\u0640"


def _characters(*ranges: tuple[int, int]) -> list[str]:
    """Return the characters of ranges of code points, from the first to the last."""
    characters: list[str] = []
    for first, last in ranges:
        characters += map(chr, range(first, last + 1))
    return characters


VOWEL_MARKS: Final = frozenset(
    _characters(
        (0x0610, 0x061A),
        (0x064B, 0x0652),
        (0x0656, 0x065F),
        (0x0670, 0x0670),
        (0x06D6, 0x06DC),
        (0x06DF, 0x06E4),
        (0x06E7, 0x06E8),
        (0x06EA, 0x06ED),
    )
)
"""Short vowels, shadda, sukun, tanwin, the superscript alef and Quranic annotation signs, without madda and hamza."""


def _presentation_forms() -> dict[str, str]:
    table = {}
    for character in _characters((0xFB50, 0xFDFF), (0xFE70, 0xFEFE)):  # NFKC of others would also turn … into dots
        # NFKC puts a separately encoded mark on a space or a tatweel; in text it belongs to the letter before.
        plain = unicodedata.normalize("NFKC", character).lstrip(" " + TATWEEL)
        if plain != character:
            table[character] = plain
    return table


PRESENTATION_FORMS: Final = _presentation_forms()
"""Shaped letters and ligatures become plain letters: ﻛﺘﺎب → كتاب, ﻻ → لا, ﷲ → الله, ﷼ → ریال."""
ARABIC_LETTERS: Final = {"\u064a": "\u06cc", "\u0649": "\u06cc", "\u0643": "\u06a9"}
"""Arabic yeh, alef maksura and kaf become Persian yeh and kaf: كتابي → کتابی, موسى → موسی; ئ and ة stay."""
NO_TATWEEL: Final = {TATWEEL: ""}  # کتـــاب → کتاب
NO_VOWEL_MARKS: Final = dict.fromkeys(sorted(VOWEL_MARKS - {"\u064b"}), "")
"""کِتاب → کتاب, حتّی → حتی. Fathatan stays, because modern spelling uses it: لطفاً."""

_PERSIAN, _ARABIC, _ASCII = "۰۱۲۳۴۵۶۷۸۹", "٠١٢٣٤٥٦٧٨٩", "0123456789"
ASCII_DIGITS: Final = dict(zip(_PERSIAN + _ARABIC, _ASCII * 2, strict=True))
PERSIAN_DIGITS: Final = dict(zip(_ASCII + _ARABIC, _PERSIAN * 2, strict=True))

_CONTROLS: Final = _characters((0x00, 0x08), (0x0E, 0x1B), (0x7F, 0x84), (0x86, 0x9F))  # category Cc, no white space
_FORMAT_SIGNS: Final = _characters(  # category Cf of Unicode 16, without ZWNJ and the visible signs of Arabic
    (0x00AD, 0x00AD),
    (0x061C, 0x061C),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x180E, 0x180E),
    (0x200B, 0x200B),
    (0x200D, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2064),
    (0x2066, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0001, 0xE0001),
    (0xE0020, 0xE007F),
)
NO_ZERO_WIDTH: Final = dict.fromkeys(_CONTROLS + _FORMAT_SIGNS, "")
"""Invisible characters except ZWNJ are removed: controls, direction marks, ZWJ, U+200B, soft hyphens, BOM."""
PERSIAN_ZERO_WIDTH: Final = {**NO_ZERO_WIDTH, "\u00ad": ZWNJ}
"""The same, but U+00AD becomes ZWNJ: Persian has no hyphenation, and some texts write بنی<U+00AD>اسرائیل."""

PLAIN_SPACES: Final = dict.fromkeys(
    "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000",
    " ",
)
"""Any white space becomes a plain space."""
DASHES: Final = {"‐": "-", "‑": "-", "−": "-", "‒": "–", "―": "—"}
"""U+2010, U+2011 and the minus sign become a hyphen, U+2012 an en dash, U+2015 an em dash."""
ENGLISH_APOSTROPHES: Final = dict.fromkeys("‘’‚‛′´‹›", "'")  # it’s → it's, ‘yes’ → 'yes'
PERSIAN_APOSTROPHES: Final = {**dict.fromkeys("‘’‚‛′", "'"), "‹": "«", "›": "»"}
