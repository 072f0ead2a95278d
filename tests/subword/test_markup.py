"""Tags go around a translation, in pairs; entities become their signs."""

import pytest

from translator.subword.markup import cut_tags, split_at_breaks, unescaped, without_tags


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<b>The book</b> is old.", ("<b>", "The book is old.", "</b>")),
        ("<b>a</b> <0>c</0>", ("<b><0>", "a c", "</0></b>")),
        ("<i><b>a</b></i>", ("<i><b>", "a", "</b></i>")),
        ('<a href="x?a=1&b=2" id=1>a</a>', ('<a href="x?a=1&b=2" id=1>', "a", "</a>")),
        ("a</p>", ("", "a", "</p>")),
        ("a <br/> <img> b", ("", "a <br/> <img> b", "")),
        ("a < b and c > d, <3, <a b>", ("", "a < b and c > d, <3, <a b>", "")),
    ],
)
def test_tags_are_taken_off_in_pairs_and_nested(text: str, expected: tuple[str, str, str]) -> None:
    assert cut_tags(text) == expected
    assert without_tags(text) == expected[1]


def test_a_text_is_split_at_tags_that_part_sentences() -> None:
    assert split_at_breaks("a.<br/>b. <P> c <b>d</b>") == ["a.", "<br/>", "b.", " <P> ", "c <b>d</b>"]


def test_an_entity_becomes_its_sign_but_not_in_code() -> None:
    assert (
        unescaped("It&#39;s &quot;R&amp;D&quot; &hellip; `&amp;` &nothing; & x;")
        == 'It\'s "R&D" … `&amp;` &nothing; & x;'
    )


def test_an_entity_never_parts_a_line() -> None:
    assert unescaped("a&#10;b&Tab;c&nbsp;d `&#10;`") == "a b c d `&#10;`"
