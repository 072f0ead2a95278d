"""Rules of the normalizer for single characters: tables from a character to its replacement."""

import unicodedata
from typing import Final

ZWNJ: Final = "\u200c"
TATWEEL: Final = "\u0640"


def _characters(ranges: str) -> list[str]:
    """Return the characters of code points and ranges of them, in hexadecimal: `AD 200B 200D-200F`."""
    characters: list[str] = []
    for part in ranges.split():
        first, _, last = part.partition("-")
        characters += map(chr, range(int(first, 16), int(last or first, 16) + 1))
    return characters


VOWEL_MARKS: Final = frozenset(_characters("610-61A 64B-652 656-65F 670 6D6-6DC 6DF-6E4 6E7-6E8 6EA-6ED"))
"""Short vowels, shadda, sukun, tanwin, the superscript alef and Quranic annotation signs, without madda and hamza."""


def _presentation_forms() -> dict[str, str]:
    table = {}
    for character in _characters("FB50-FDFF FE70-FEFE"):  # NFKC of others would also turn … into dots
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

_CONTROLS: Final = _characters("0-8 E-1B 7F-84 86-9F")  # category Cc, no white space
_FORMAT_SIGNS: Final = _characters(  # category Cf of Unicode 16, without ZWNJ and the visible signs of Arabic
    "AD 61C 70F 890-891 8E2 180E 200B 200D-200F 202A-202E 2060-2064 2066-206F FEFF FFF9-FFFB "
    "110BD 110CD 13430-1343F 1BCA0-1BCA3 1D173-1D17A E0001 E0020-E007F"
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
