"""Rules of the normalizer for single characters, and a fast table that applies them."""

import codecs
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

from translator.corpus.normalizer.normalizer_rules import Change

Replacements = Mapping[str, str]
"""The replacement of each single character that a rule changes; all others stay."""

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
TEH_MARBUTA: Final = {"\u0629": "\u0647"}  # دایرة → دایره
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


def replacing(table: Replacements) -> Change:
    """Return a function that replaces a character by its entry in `table`, and keeps all others."""
    return lambda character: table.get(character, character)


def _page() -> Iterable[str]:
    """Return the characters of a page: nearly all of English and Persian text."""
    letters = _characters((0x00, 0x7F), (0x0621, 0x063A), (0x0640, 0x0655), (0x0660, 0x066C))
    return [
        *letters,
        *"۰۱۲۳۴۵۶۷۸۹پچژکگیهۀە،؛؟ٰۂ",
        *"\u200c\u200d\u200e\u200f\u200b\ufeff\u00a0\u00ad«»“”‘’–—…•·×°´éèêáàâãçïñöôüí",
    ]


_PAGE: Final = "".join(_page())
_ASCII_CHARACTERS: Final = "".join(map(chr, range(128)))


class CharacterTable(dict[int, str]):
    """A function of text that replaces each character by a fixed string, which may be empty.

    `str.translate` is slow. Therefore the table has an 8-bit code page with the characters of English and Persian. A
    text that fits on it is encoded, mapped by `bytes.translate`, and decoded. For any other text, the table is the
    argument of `str.translate`: replacements by code point, computed on first use.
    """

    def __init__(self, *changes: Change) -> None:
        """Build the table from pure functions of a character, each applied to the results of the one before.

        This also builds the page. A page is an 8-bit encoding like ISO 8859-6: up to 256 characters, each with a code
        of one byte. A table of 256 bytes maps them all, and `bytes.translate` looks each byte up there. `str.translate`
        looks each character up in a dictionary, which takes far longer. A replacement must have a code too. So a
        character stays on the page only if its replacement is empty, or a character of the page.
        """
        self._changes = changes
        replacements = self._replacements_on_page()

        # The codes of the page: a character's code is its place among them.
        assert len(replacements) <= 256
        self._decoding = "".join(replacements).ljust(256, "\ufffe")  # undefined
        self._encoding = codecs.charmap_build(self._decoding)
        self._begins_with_ascii = self._decoding.startswith(_ASCII_CHARACTERS)
        self.page = frozenset(replacements)
        """The characters that have a code."""

        # For `bytes.translate`: the code of the replacement by the code of the character, and the deleted codes.
        code_of = {character: code for code, character in enumerate(replacements)}
        new_codes = bytearray(256)
        deleted_codes = bytearray()
        for character, replacement in replacements.items():
            if replacement:
                new_codes[code_of[character]] = code_of[replacement]
            else:
                deleted_codes.append(code_of[character])
        self._codes = bytes(new_codes)
        self._deleted = bytes(deleted_codes)

    def _replacements_on_page(self) -> dict[str, str]:
        """Return the replacement of each character of the page, without those whose replacement is not on it."""
        replacements = {character: self[ord(character)] for character in _PAGE}
        while True:
            outside = [
                character
                for character, replacement in replacements.items()
                if replacement and replacement not in replacements
            ]
            if not outside:
                return replacements
            for character in outside:  # it may be the replacement of another one
                del replacements[character]

    def __missing__(self, code: int) -> str:
        text = chr(code)
        for change in self._changes:
            text = "".join(map(change, text))  # an earlier change may return several characters, or none
        return self.setdefault(code, text)

    def __call__(self, text: str) -> str:
        """Return `text` with every character replaced."""
        codes = self.encode(text)
        if codes is None:
            return text.translate(self)
        new_codes = self.replace(codes)
        return text if new_codes == codes else self.decode(new_codes)

    def encode(self, text: str) -> bytes | None:
        """Return the codes of a text; None if one of its characters is not on the page."""
        try:
            if self._begins_with_ascii and text.isascii():
                return text.encode("ascii")  # many times faster
            return codecs.charmap_encode(text, "strict", self._encoding)[0]
        except UnicodeEncodeError:
            return None

    def replace(self, codes: bytes) -> bytes:
        """Return the codes after the replacement of every character."""
        return codes.translate(self._codes, self._deleted)

    def decode(self, codes: bytes) -> str:
        """Return the text with these codes."""
        return codecs.charmap_decode(codes, "strict", self._decoding)[0]

    def codes(self, characters: Iterable[str]) -> bytes:
        """Return the codes of characters of the page."""
        return codecs.charmap_encode("".join(characters), "strict", self._encoding)[0]
