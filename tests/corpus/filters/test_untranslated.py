"""Copies of one side on the other."""

import pytest

from translator.corpus.filters.sides import Sides
from translator.corpus.filters.untranslated import copied_share, untranslated


@pytest.mark.parametrize(
    ("source", "target", "dropped"),
    [
        ("He opened the door", "He opened the door او در را باز کرد", True),
        ("He opened the door او در را باز کرد", "او در را باز کرد", True),
        ("Python is fast", "زبان Python سریع است", False),
        ("Tom Sawyer", "Tom Sawyer", False),
        (
            "Vue offers two API styles: Options API and Composition API.",
            "Vue دو سبک Options API و Composition API دارد",
            False,
        ),
        ("1 2 3 4 5 - - :", "1 2 3 4 5 - - :", False),
    ],
)
def test_untranslated(source: str, target: str, dropped: bool) -> None:
    assert untranslated(0.8)(Sides.of(source, target)) is dropped


def test_share_of_words_with_letters() -> None:
    same = {"a", "b", "c", "d", "5"}
    assert copied_share(list("abcde567"), same) == 0.8
    assert copied_share(list("abce5"), same) == 0.0, "three words are too few"
    assert copied_share([], same) == 0.0
