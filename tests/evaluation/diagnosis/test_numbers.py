"""Numbers in digits are compared across three kinds of digits; numbers in words are not held against anyone."""

from collections import Counter

import pytest
from translated_sets import translated

from translator.evaluation.diagnosis.finding import Agreement
from translator.evaluation.diagnosis.numbers import disagreement, find_numbers


@pytest.mark.parametrize(
    ("source", "hypothesis", "references", "note"),
    [
        ("in 1979", "در ۱۹۷۹", ("در سال ۱۹۷۹",), None),
        ("in 1979", "در ١٩٧٩", ("در سال 1979",), None),
        ("12,500 men", "۱۲٬۵۰۰ مرد", ("۱۲۵۰۰ مرد",), None),
        ("in 1979", "در ۱۹۷۸", ("در سال ۱۹۷۹",), "lost 1979, invented 1978"),
        ("in 1979", "در آن سال", ("در سال ۱۹۷۹",), "lost 1979"),
        ("in 1979", "در ۱۹۷۹ و ۱۹۷۹", ("در سال ۱۹۷۹",), "invented 1979"),
        ("5 books", "پنج کتاب", ("پنج کتاب",), None),
        ("5 books", "پنج کتاب", ("پنج کتاب", "۵ کتاب"), None),
        ("5 of seven", "۵ تا از ۷", ("پنج تا از ۷",), None),
        ("five books", "۵۰۰ کتاب", ("پنج کتاب",), None),
        ("in 1979", "در ۱۳۵۸", ("در ۱۳۵۸",), None),
        ("12 and 12", "۱۲", ("۱۲ و ۱۲",), "lost 12"),
    ],
)
def test_numbers(source: str, hypothesis: str, references: tuple[str, ...], note: str | None) -> None:
    found = find_numbers(translated([hypothesis], [references], [source]), 3)
    assert [example.note for example in found.examples] == ([note] if note else [])


def test_agreement_is_counted_in_sentences_whose_source_has_digits() -> None:
    scored = translated(
        ["۱ و ۲", "۳", "پنج"], [("۱ و ۲", "۱"), ("۴", "۳"), ("۵", "پنج")], ["1 and 2 and 3", "three", "5"]
    )
    found = find_numbers(scored, 3)
    assert found.of == 2
    assert found.agreements["with the source"] == Agreement(2, 2, 4)
    assert found.agreements["with the references"] == Agreement(2, 2, 3)


def test_a_number_is_lost_only_where_all_references_have_it() -> None:
    one, none = Counter(["7"]), Counter[str]()
    assert disagreement(none, one, [one, none]) == (none, none)
    assert disagreement(none, one, [one, one]) == (one, none)
    assert disagreement(one, none, [none, one]) == (none, none)
    assert disagreement(one, none, [none, none]) == (none, one)
