"""The tables of characters: which characters they change, and into what."""

import sys
import unicodedata
from collections.abc import Mapping

from translator.corpus.normalizer import characters

EVERY_CHARACTER = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]


def replaced(table: Mapping[str, str], text: str) -> str:
    return "".join(table.get(character, character) for character in text)


def test_character_rules_change_exactly_the_intended_characters() -> None:
    assert characters.ARABIC_LETTERS == {"ي": "ی", "ى": "ی", "ك": "ک"}
    assert characters.NO_TATWEEL == {"\u0640": ""}
    assert dict(zip("۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩", "01234567890123456789", strict=True)) == characters.ASCII_DIGITS
    assert dict(zip("0123456789٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹۰۱۲۳۴۵۶۷۸۹", strict=True)) == characters.PERSIAN_DIGITS
    other_spaces = [character for character in EVERY_CHARACTER if character.isspace() and character != " "]
    assert dict.fromkeys(other_spaces, " ") == characters.PLAIN_SPACES
    assert replaced(characters.DASHES, "‐‑−‒–—―-") == "---––——-"
    assert replaced(characters.ENGLISH_APOSTROPHES, "‘it’s‚ ′‹a›“»") == "'it's' ''a'“»"
    assert replaced(characters.PERSIAN_APOSTROPHES, "‘it’s‚ ′‹a›“»") == "'it's' '«a»“»"


def test_vowel_marks_are_combining_marks_that_belong_to_no_letter() -> None:
    assert set(characters.NO_VOWEL_MARKS) == characters.VOWEL_MARKS - {"\u064b"}
    for mark in characters.VOWEL_MARKS:
        assert unicodedata.category(mark) == "Mn"
    assert not characters.VOWEL_MARKS & set("\u0653\u0654\u0655"), "madda and hamza belong to the letter"


def test_presentation_forms_are_fully_replaced_by_plain_spellings() -> None:
    spellings = characters.PRESENTATION_FORMS
    assert len(spellings) > 700
    for character, plain in spellings.items():
        assert 0xFB50 <= ord(character) <= 0xFEFE
        assert plain == plain.strip(" \u0640")
        assert not set(plain) & spellings.keys()
    for character, plain in (("ﷲ", "الله"), ("﷼", "ریال"), ("\ufe70", "\u064b"), ("\ufcf2", "\u064e\u0651")):
        assert spellings[character] == plain


def test_zero_width_removes_invisible_characters_but_zwnj_and_line_ends() -> None:
    removed = characters.NO_ZERO_WIDTH
    assert set(removed.values()) == {""}
    assert {"\u200b", "\u200d", "\u200e", "\u200f", "\u00ad", "\ufeff", "\x00", "\u202b", "\u2066"} <= set(removed)
    assert not removed.keys() & set("\u200c\n\t\r\u0085\u2028\u06dd")
    invisible = {character for character in EVERY_CHARACTER if unicodedata.category(character) in ("Cc", "Cf")}
    visible = set("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u200c\u06dd\u0600\u0601\u0602\u0603\u0604\u0605")
    assert invisible - visible <= removed.keys()
    # A character that this Python does not know yet may be one of a later Unicode.
    for character in removed.keys() - invisible:
        assert unicodedata.category(character) == "Cn"
    assert removed | {"\u00ad": "\u200c"} == characters.PERSIAN_ZERO_WIDTH
