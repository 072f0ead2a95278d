"""Quotation marks: one kind for each language, and no guess where a mark stands alone."""

import pytest

from translator.corpus.normalize.quotes import english_apostrophe, english_quotes, persian_apostrophe, persian_quotes


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("“yes” „no‟ «so» 5″", '"yes" "no" "so" 5"'),
        ("`` yes , '' he said", '"yes ," he said'),
        ("it is iniquity'' among you.''", 'it is iniquity" among you."'),
        ("let x = '' and f('')", "let x = '' and f('')"),
        ("the `Arsh, Fir`awn, Bakhi`", "the 'Arsh, Fir'awn, Bakhi'"),
        ("call `run()` and `stop` now", "call `run()` and `stop` now"),
        (";Nay,; he said, ;it is so.;", '"Nay," he said, "it is so."'),
        ("it is so.;", 'it is so."'),
        ("it is so; and x,; y; etc.; z;", "it is so; and x,; y; etc.; z;"),
    ],
)
def test_english(text: str, normal: str) -> None:
    assert english_quotes(text) == normal


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ('گفت: "بله"، و "نه"', "گفت: «بله»، و «نه»"),
        ("گفت: “بله” و „نه“", "گفت: «بله» و «نه»"),
        ("“بله", "«بله"),
        ("بله”", "بله»"),
        ('متغیر "name" و "نام"', 'متغیر "name" و «نام»'),
        ('5" و "بله"', '5" و "بله"'),
        ('گفت: "بله', 'گفت: "بله'),
        ('" بله" و ""', '" بله" و ""'),
        ('الف"بله"ب', 'الف"بله"ب'),
        ("ا´", "ا'"),
    ],
)
def test_persian(text: str, normal: str) -> None:
    assert persian_quotes(text) == normal


def test_single_marks() -> None:
    assert "".join(map(english_apostrophe, "‘it’s‚ ′‹a›“»")) == "'it's' ''a'“»"
    assert "".join(map(persian_apostrophe, "‘it’s‚ ′‹a›“»")) == "'it's' '«a»“»"


def test_a_semicolon_without_further_evidence_stays() -> None:
    for text in ("x = 1 ;print x", "use a ;b and c;"):
        assert english_quotes(text) == text
    assert english_quotes(";Was she ill?") == '"Was she ill?'
    assert english_quotes("he said: ;come in") == 'he said: "come in'
