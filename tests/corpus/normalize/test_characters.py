"""Rules for single characters, held against the Unicode database."""

import sys
import unicodedata

import pytest

from translator.corpus.normalize import characters

EVERY_CHARACTER = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]


def changed(rule: object) -> dict[str, str]:
    assert callable(rule)
    return {character: rule(character) for character in EVERY_CHARACTER if rule(character) != character}


def test_arabic_letters_are_three() -> None:
    assert changed(characters.arabic_letters) == {"ي": "ی", "ى": "ی", "ك": "ک"}


def test_presentation_forms_leave_no_form_that_has_a_plain_spelling() -> None:
    replaced = changed(characters.presentation_forms)
    assert len(replaced) > 700
    for character, plain in replaced.items():
        assert 0xFB50 <= ord(character) <= 0xFEFE
        assert plain == plain.strip(" \u0640")
        assert all(characters.presentation_forms(part) == part for part in plain)
    assert replaced["ﷲ"] == "الله"
    assert replaced["﷼"] == "ریال"
    assert replaced["\ufe70"] == "\u064b"
    assert replaced["\ufcf2"] == "\u064e\u0651"


def test_zero_width_removes_what_has_no_width_but_zwnj_and_line_ends() -> None:
    removed = changed(characters.zero_width)
    assert set(removed.values()) == {""}
    assert {"\u200b", "\u200d", "\u200e", "\u200f", "\u00ad", "\ufeff", "\x00", "\u202b", "\u2066"} <= set(removed)
    assert not removed.keys() & set("\u200c\n\t\r\u0085\u2028\u06dd")
    assert {unicodedata.category(character) for character in removed} == {"Cc", "Cf"}


def test_white_space_is_what_python_splits_at() -> None:
    assert changed(characters.white_space) == {c: " " for c in EVERY_CHARACTER if c.isspace() and c != " "}


def test_vowel_marks_go_and_hamza_and_madda_stay() -> None:
    assert set(changed(characters.vowel_marks)) == characters.VOWEL_MARKS - {"\u064b"}
    assert all(unicodedata.category(mark) == "Mn" for mark in characters.VOWEL_MARKS)
    assert not characters.VOWEL_MARKS & set("\u0653\u0654\u0655")


def test_digits() -> None:
    assert changed(characters.ascii_digits) == dict(zip("۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩", "01234567890123456789", strict=True))
    assert changed(characters.persian_digits) == dict(zip("0123456789٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹۰۱۲۳۴۵۶۷۸۹", strict=True))


@pytest.mark.parametrize(("character", "image"), [("\u0640", ""), ("ب", "ب")])
def test_tatweel(character: str, image: str) -> None:
    assert characters.tatweel(character) == image


def test_soft_hyphen_of_persian_text_is_a_half_space() -> None:
    differs = {c for c in EVERY_CHARACTER if characters.persian_zero_width(c) != characters.zero_width(c)}
    assert differs == {"\u00ad"}
    assert characters.persian_zero_width("\u00ad") == "\u200c"


def test_teh_marbuta() -> None:
    assert changed(characters.teh_marbuta) == {"ة": "ه"}
