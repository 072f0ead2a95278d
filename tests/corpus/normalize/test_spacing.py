"""Spaces and punctuation: what is joined, and what must be left alone."""

import pytest

from translator.corpus.normalize.spacing import punctuation_spacing, tidy_spaces


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
        ("کرد،ولی رفت؛او", "کرد، ولی رفت؛ او"),
        ("گفت :«بیا» و رفت .او", "گفت: «بیا» و رفت. او"),
        ("۱۱ .۵ تن", "۱۱.۵ تن"),
        ('" he went on', '"he went on'),
        ('he went on . "', 'he went on."'),
        ('he said : " go on', 'he said: "go on'),
        ('he said : "go on . "', 'he said: "go on."'),
    ],
)
def test_what_a_tokenizer_took_apart_is_joined(text: str, joined: str) -> None:
    assert punctuation_spacing(text) == joined


@pytest.mark.parametrize(
    "text",
    [
        "3 - 2",
        "۱،۰۰۰ و a،۲",
        'he said, " yes',
        "فایل .camel",
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
        'the " x" and "y " so',
        '5 " wide',
        "شماست.« پس",
        "alert( x",
        "word )متن( word",
    ],
)
def test_what_may_be_meant_stays(text: str) -> None:
    assert punctuation_spacing(text) == text


def test_spaces() -> None:
    assert tidy_spaces("  a   b c ") == "a b c"
