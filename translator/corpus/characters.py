"""Rules of the normalizer for single characters, a fast table that applies them, and the repair of mojibake."""

import codecs
import contextlib
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Final

from ftfy import TextFixerConfig, fix_encoding_and_explain
from ftfy.badness import is_bad

Change = Callable[[str], str]  # a function from a text, or from a single character, to its replacement

ZWNJ: Final = "\u200c"
TATWEEL: Final = "\u0640"
VOWEL_MARKS: Final = frozenset(
    map(chr, (*range(0x0610, 0x061B), *range(0x064B, 0x0653), *range(0x0656, 0x0660), 0x0670))
) | frozenset(map(chr, (*range(0x06D6, 0x06DD), *range(0x06DF, 0x06E5), 0x06E7, 0x06E8, *range(0x06EA, 0x06EE))))
"""Short vowels, shadda, sukun, tanwin, the superscript alef and Quranic annotation signs, without madda and hamza."""
_KEPT_CONTROLS: Final = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85" + ZWNJ) | {
    *map(chr, range(0x0600, 0x0606)),
    "\u06dd",
}
"""White space, ZWNJ and the visible controls of Arabic."""
_PERSIAN, _ARABIC, _ASCII = "۰۱۲۳۴۵۶۷۸۹", "٠١٢٣٤٥٦٧٨٩", "0123456789"


def replacing(table: Mapping[str, str]) -> Change:
    """Return a function that replaces a character by its entry in `table`, and keeps all others."""
    return lambda character: table.get(character, character)


arabic_letters = replacing({"\u064a": "\u06cc", "\u0649": "\u06cc", "\u0643": "\u06a9"})
"""Arabic yeh, alef maksura and kaf become Persian yeh and kaf: كتابي → کتابی, موسى → موسی; ئ and ة stay."""
teh_marbuta = replacing({"\u0629": "\u0647"})  # دایرة → دایره
tatweel = replacing({TATWEEL: ""})  # کتـــاب → کتاب
vowel_marks = replacing(dict.fromkeys(VOWEL_MARKS - {"\u064b"}, ""))
"""کِتاب → کتاب, حتّی → حتی. Fathatan stays, because modern spelling uses it: لطفاً."""
ascii_digits = replacing(dict(zip(_PERSIAN + _ARABIC, _ASCII * 2, strict=True)))
persian_digits = replacing(dict(zip(_ASCII + _ARABIC, _PERSIAN * 2, strict=True)))
dash = replacing({"‐": "-", "‑": "-", "−": "-", "‒": "–", "―": "—"})
"""U+2010, U+2011 and the minus sign become a hyphen, U+2012 an en dash, U+2015 an em dash."""
english_apostrophe = replacing(dict.fromkeys("‘’‚‛′´‹›", "'"))  # it’s → it's, ‘yes’ → 'yes'
persian_apostrophe = replacing({**dict.fromkeys("‘’‚‛′", "'"), "‹": "«", "›": "»"})


def presentation_forms(character: str) -> str:
    """Shaped letters and ligatures become plain letters: ﻛﺘﺎب → كتاب, ﻻ → لا, ﷲ → الله, ﷼ → ریال."""
    code = ord(character)
    if not (0xFB50 <= code <= 0xFDFF or 0xFE70 <= code <= 0xFEFE):
        return character  # NFKC would also turn … into three dots
    # NFKC puts a separately encoded mark on a space or a tatweel; in text it belongs to the letter before.
    return unicodedata.normalize("NFKC", character).lstrip(" " + TATWEEL)


def zero_width(character: str) -> str:
    """Invisible characters except ZWNJ are removed: controls, direction marks, ZWJ, U+200B, soft hyphens, BOM."""
    invisible = character not in _KEPT_CONTROLS and unicodedata.category(character) in ("Cc", "Cf")
    return "" if invisible else character


def persian_zero_width(character: str) -> str:
    """As `zero_width`, but U+00AD becomes ZWNJ: Persian has no hyphenation, and some texts write بنی<U+00AD>اسرائیل."""
    return ZWNJ if character == "\u00ad" else zero_width(character)


def white_space(character: str) -> str:
    """Any white space becomes a plain space."""
    return " " if character.isspace() else character


_PAGE: Final = (
    "".join(map(chr, (*range(0x80), *range(0x0621, 0x063B), *range(0x0640, 0x0656), *range(0x0660, 0x066D))))
    + "۰۱۲۳۴۵۶۷۸۹پچژکگیهۀە،؛؟ٰۂ"
    + "\u200c\u200d\u200e\u200f\u200b\ufeff\u00a0\u00ad«»“”‘’–—…•·×°´éèêáàâãçïñöôüí"
)


class CharacterTable(dict[int, str]):
    """A function of text that replaces each character by a fixed string, which may be empty.

    `str.translate` is slow. Therefore the table has an 8-bit code page with the characters of English and Persian. A
    text that fits on it is encoded, mapped by `bytes.translate`, and decoded. For any other text, the table is the
    argument of `str.translate`: replacements by code point, computed on first use.
    """

    def __init__(self, *changes: Change) -> None:
        """Build the table from pure functions of a character, each applied to the results of the one before."""
        self._changes = changes
        images = {character: self[ord(character)] for character in _PAGE}
        while outside := [character for character, new in images.items() if new and new not in images]:
            for character in outside:  # its replacement is not on the page
                del images[character]
        assert len(images) <= 256
        self._decoding = "".join(images).ljust(256, "\ufffe")  # undefined
        self._encoding = codecs.charmap_build(self._decoding)
        place = {character: code for code, character in enumerate(images)}
        self._codes = bytes(place[new or character] for character, new in images.items()).ljust(256, b"\0")
        self._deleted = bytes(place[character] for character, new in images.items() if not new)

    def __missing__(self, code: int) -> str:
        text = chr(code)
        for change in self._changes:
            text = "".join(map(change, text))  # an earlier change may return several characters, or none
        return self.setdefault(code, text)

    def __call__(self, text: str) -> str:
        """Return `text` with every character replaced."""
        try:
            encoded = codecs.charmap_encode(text, "strict", self._encoding)[0]
        except UnicodeEncodeError:
            return text.translate(self)
        return codecs.charmap_decode(encoded.translate(self._codes, self._deleted), "strict", self._decoding)[0]


# Lossy sequences stay, because a repair that writes U+FFFD is a guess.
_FTFY: Final = TextFixerConfig(explain=True, replace_lossy_sequences=False, fix_c1_controls=False)
# The repairs of ftfy that decode as UTF-8. Its repairs between two single-byte character sets are less certain.
_READ_AS_UTF_8: Final = frozenset(("utf-8", "utf-8-variants", "decode_inconsistent_utf8"))
# Text that a repair turns into a foreign script only looked like UTF-8 by chance.
_UNEXPECTED: Final = re.compile("[^\x00-\u024f\u0600-\u06ff\u2000-\u20cf]")
# Quotation marks and dashes of windows-1252. Its other signs are not certain: U+0085 is also a line end.
_CONTROL: Final = re.compile("[\x91-\x94\x96\x97]")

# UTF-8 that was read as windows-1256. The lead bytes D8–DB of Persian letters show as ط ظ ع غ, C2 of « and » as آ, and
# E2 of ZWNJ and most typographic signs as â. The bytes that follow are those from 80 to BF.
_TRAILS: Final = bytes(range(0x80, 0xC0)).decode("windows-1256")
# Trail bytes that never follow a Persian letter in correct text.
_EVIDENCE: Final = "".join(
    sign for sign in _TRAILS if not sign.isalpha() and sign not in "،؛؟«»“”‘’…–—\u00a0\u200c\u200d\u00ad"
) + ("ƒŒœˆ")
_WRONG_RUN: Final = re.compile(rf"(?<!\w)(?:[طظعغآ][{_TRAILS}]|â[{_TRAILS}]{{2}})+(?!\w)")
_EVIDENT: Final = re.compile(f"[طظعغ][{_EVIDENCE}]")
_PERSIAN_LETTER: Final = re.compile("[\u0621-\u063a\u0641-\u064aپچژکگی]")

# All mojibake that is repaired here has one of these characters; few clean lines do.
_SUSPECT: Final = re.compile(f"[\x80-\x9f¬À-\u024f\u0370-\u03ff\u0400-\u04ff√≈∆─-▟{re.escape(_EVIDENCE)}]")


def is_suspect(text: str) -> bool:
    """Return whether `text` may be wrongly decoded, by a fast test; False means that it is clean."""
    return not text.isascii() and _SUSPECT.search(text) is not None


def repair_decoding(text: str) -> str:
    """Repair UTF-8 that was decoded as another character set: Ø³Ù„Ø§Ù… → سلام, cafÃ© → café, ط³ظ„ط§ظ… → سلام."""
    if not is_suspect(text):
        return text
    if _EVIDENT.search(text) is not None:
        text = _repair_windows_1256(text)
    if is_bad(text):
        repaired, steps = fix_encoding_and_explain(text, _FTFY)
        names = {step.parameter for step in steps or ()}
        strange = "decode_inconsistent_utf8" in names and set(_UNEXPECTED.findall(repaired)) - set(text)
        if names & _READ_AS_UTF_8 and not strange:
            text = repaired
    return _CONTROL.sub(lambda match: match[0].encode("latin-1").decode("windows-1252"), text)


def _repair_windows_1256(text: str) -> str:
    letters = 0

    def again(match: re.Match[str]) -> str:
        nonlocal letters
        with contextlib.suppress(UnicodeDecodeError):
            if _EVIDENT.search(match[0]) is not None:
                read = match[0].encode("windows-1256").decode("utf-8")
                letters += len(_PERSIAN_LETTER.findall(read))
                return read
        return match[0]

    repaired = _WRONG_RUN.sub(again, text)
    return repaired if letters >= 3 else text  # fewer may be chance
