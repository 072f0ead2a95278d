"""A test set typed in other ways: what each noise changes."""

from random import Random

import pytest

from translator.evaluation.robustness import with_noise

TYPED_TEXT = "He said: \"I don't know  NATO's plans for 2024.\""


@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("title-case", "He Said: \"I Don't Know  Nato's Plans For 2024.\""),
        ("lower-case", "he said: \"i don't know  nato's plans for 2024.\""),
        ("quotes-and-spaces", "He said: “I don’t know   NATO’s  plans for 2024.”"),
    ],
)
def test_a_way_of_typing_changes_the_text_as_its_name_says(way: str, text: str) -> None:
    assert with_noise(TYPED_TEXT, way, Random(2)) == text


def test_typos_change_a_few_characters() -> None:
    typed = with_noise(TYPED_TEXT, "typos", Random(2))
    assert typed != TYPED_TEXT
    assert abs(len(typed) - len(TYPED_TEXT)) <= 3
