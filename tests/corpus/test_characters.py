"""The tables of characters: which characters they change, and into what."""

import sys
import unicodedata
from collections.abc import Mapping

from translator.corpus import characters

EVERY_CHARACTER = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]


def replaced(table: Mapping[str, str], text: str) -> str:
    return "".join(table.get(character, character) for character in text)


def test_character_rules_change_exactly_the_intended_characters() -> None:
    assert characters.ARABIC_LETTERS == {"ي": "ی", "ى": "ی", "ك": "ک"}
    assert characters.TEH_MARBUTA == {"ة": "ه"}
    assert characters.NO_TATWEEL == {"\u0640": ""}
    assert dict(zip("۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩", "01234567890123456789", strict=True)) == characters.ASCII_DIGITS
    assert dict(zip("0123456789٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹۰۱۲۳۴۵۶۷۸۹", strict=True)) == characters.PERSIAN_DIGITS
    assert {c: " " for c in EVERY_CHARACTER if c.isspace() and c != " "} == characters.PLAIN_SPACES
    assert set(characters.NO_VOWEL_MARKS) == characters.VOWEL_MARKS - {"\u064b"}
    assert all(unicodedata.category(mark) == "Mn" for mark in characters.VOWEL_MARKS)
    assert not characters.VOWEL_MARKS & set("\u0653\u0654\u0655"), "madda and hamza belong to the letter"
    assert replaced(characters.DASHES, "‐‑−‒–—―-") == "---––——-"
    assert replaced(characters.ENGLISH_APOSTROPHES, "‘it’s‚ ′‹a›“»") == "'it's' ''a'“»"
    assert replaced(characters.PERSIAN_APOSTROPHES, "‘it’s‚ ′‹a›“»") == "'it's' '«a»“»"


def test_presentation_forms_are_fully_replaced_by_plain_spellings() -> None:
    replaced = characters.PRESENTATION_FORMS
    assert len(replaced) > 700
    for character, plain in replaced.items():
        assert 0xFB50 <= ord(character) <= 0xFEFE
        assert plain == plain.strip(" \u0640")
        assert not any(part in replaced for part in plain)
    assert [replaced[c] for c in ("ﷲ", "﷼", "\ufe70", "\ufcf2")] == ["الله", "ریال", "\u064b", "\u064e\u0651"]


def test_zero_width_removes_invisible_characters_but_zwnj_and_line_ends() -> None:
    removed = characters.NO_ZERO_WIDTH
    assert set(removed.values()) == {""}
    assert {"\u200b", "\u200d", "\u200e", "\u200f", "\u00ad", "\ufeff", "\x00", "\u202b", "\u2066"} <= set(removed)
    assert not removed.keys() & set("\u200c\n\t\r\u0085\u2028\u06dd")
    invisible = {character for character in EVERY_CHARACTER if unicodedata.category(character) in ("Cc", "Cf")}
    visible = set("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u200c\u06dd\u0600\u0601\u0602\u0603\u0604\u0605")
    assert invisible - visible <= removed.keys()
    # A character that this Python does not know yet may be one of a later Unicode.
    assert all(unicodedata.category(character) == "Cn" for character in removed.keys() - invisible)
    assert removed | {"\u00ad": "\u200c"} == characters.PERSIAN_ZERO_WIDTH
