"""Rules that look at neighbours: what they join, and what they must leave alone."""

import pytest

from translator.corpus.normalize.spacing import (
    compose_hamza,
    convert_digits,
    english_contractions,
    punctuation_spacing,
    tidy_spaces,
    tidy_zwnj,
)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("رفت .", "رفت."),
        ("رفت ، آمد ؛ ماند ؟", "رفت، آمد؛ ماند؟"),
        ("« متن »", "«متن»"),
        ("a ( x ) b", "a (x) b"),
        ("[ شهر ] آنان", "[شهر] آنان"),
        ('he said , " come here . "', 'he said, "come here."'),
        ('گفت : " بیا "', 'گفت: "بیا"'),
        ("کرد ،ولی", "کرد، ولی"),
        ("[چرا ]به خدا", "[چرا] به خدا"),
        ("so . . . yes", "so ... yes"),
        ("what ? ! no !", "what?! no!"),
        ("in 1998 , and 1999 .", "in 1998, and 1999."),
        ("“ yes ” ( no )", "“yes” (no)"),
    ],
)
def test_what_a_tokenizer_took_apart_is_joined(text: str, joined: str) -> None:
    assert punctuation_spacing(text) == joined


@pytest.mark.parametrize(
    "text",
    [
        "3 - 2",
        "well ... yes",
        "رفت ...",
        "... and",
        "3.5 and 1,000",
        "at 10:30",
        "at 10 : 30",
        "2 . 3",
        "a != b",
        "see .NET and ?x=1",
        "yes :) or ;)",
        "{ a: 1 }",
        "it is 'fine' now",
        'the " x" and "y "',
        '5 " wide',
        "شماست.« پس",
        "alert( x",
        "word )متن( word",
    ],
)
def test_what_may_be_meant_stays(text: str) -> None:
    assert punctuation_spacing(text) == text


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("it 's the world 's end", "it's the world's end"),
        ("don 't , do n't , I 'll", "don't , don't , I'll"),
        ("they 've we 're I 'd I 'm", "they've we're I'd I'm"),
        ("say 's' and 'tis and 't was", "say 's' and 'tis and 't was"),
        ("the boys ' toys", "the boys ' toys"),
    ],
)
def test_english_contractions(text: str, joined: str) -> None:
    assert english_contractions(text) == joined


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
    ],
)
def test_digits_glued_to_latin_letters_stay(text: str, converted: str) -> None:
    assert convert_digits(text) == converted


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
    ],
)
def test_hamza_is_composed(text: str, composed: str) -> None:
    assert compose_hamza(text) == composed


def test_spaces() -> None:
    assert tidy_spaces("  a   b c ") == "a b c"
