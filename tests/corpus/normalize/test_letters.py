"""ZWNJ, digits and hamza: what their neighbours decide."""

import pytest

from translator.corpus.normalize.letters import compose_hamza, convert_digits, tidy_zwnj


@pytest.mark.parametrize(
    ("text", "tidy"),
    [
        ("می\u200cروم", "می\u200cروم"),
        ("می\u200c\u200c\u200cروم", "می\u200cروم"),
        ("\u200cمی روم\u200c", "می روم"),
        ("می \u200c روم", "می  روم"),
        ("«\u200cکتاب\u200c»", "«کتاب»"),
        ("۲۰\u200cساله HTML\u200cها", "۲۰\u200cساله HTML\u200cها"),
        ("کتابِ\u200cها", "کتابِ\u200cها"),
        ("\u200c", ""),
    ],
)
def test_zwnj_stays_between_letters_only(text: str, tidy: str) -> None:
    assert tidy_zwnj(text) == tidy


@pytest.mark.parametrize(
    ("text", "converted"),
    [
        ("25 سال", "۲۵ سال"),
        ("٢٥ و ۲۵", "۲۵ و ۲۵"),
        ("3.5 و 1,000", "۳.۵ و ۱,۰۰۰"),
        ("MP3 3D UTF-8 v1.2.3 COVID-19 a/2", "MP3 3D UTF-8 v1.2.3 COVID-19 a/2"),
        ("Windows 10", "Windows ۱۰"),
        ("(10)", "(۱۰)"),
        ("تابع sum(a = 1, b = 2) و pow(2, -1) و css)[0] و {a}^{(1)} و while(4 < n)", None),
        ("صفحه(25) و 5 > 3 و قیمت = 7", "صفحه(۲۵) و ۵ > ۳ و قیمت = ۷"),
    ],
)
def test_digits_glued_to_latin_letters_stay(text: str, converted: str | None) -> None:
    assert convert_digits(text) == (text if converted is None else converted)


@pytest.mark.parametrize(
    ("text", "composed"),
    [
        ("ا\u0653ب", "آب"),
        ("ه\u0654", "ۀ"),
        ("ه\u0654\u0654\u0654", "ۀ"),
        ("ۀ\u0654", "ۀ"),
        ("ا\u0653\u0653", "آ"),
        ("ی\u0654", "ئ"),
        ("ا\u0655", "إ"),
        ("ب\u0654", "ب\u0654"),
        ("پس الا´ن و ابدالا´باد", "پس الآن و ابدالآباد"),
        ("ا´ن و لا´", "ا´ن و لا´"),
    ],
)
def test_hamza_is_composed(text: str, composed: str) -> None:
    assert compose_hamza(text) == composed
