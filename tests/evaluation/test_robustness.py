"""A test set typed in other ways: what each noise changes, and how its loss is measured and shown."""

from random import Random

import pytest

from tests.support.translated_sets import translated
from translator.evaluation.robustness import WAYS, compare_noise, with_noise

TYPED_TEXT = "He said: \"I don't know  NATO's plans for 2024.\""


def typed(way: str) -> str:
    return with_noise(TYPED_TEXT, way, Random(2))


@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("capitals", "HE SAID: \"I DON'T KNOW  NATO'S PLANS FOR 2024.\""),
        ("title-case", "He Said: \"I Don't Know  Nato's Plans For 2024.\""),
        ("lower-case", "he said: \"i don't know  nato's plans for 2024.\""),
        ("no-final-punctuation", "He said: \"I don't know  NATO's plans for 2024\""),
    ],
)
def test_a_way_of_typing_changes_the_text_as_its_name_says(way: str, text: str) -> None:
    assert typed(way) == text


def test_typos_change_a_few_characters() -> None:
    assert typed("typos") != TYPED_TEXT
    assert abs(len(typed("typos")) - len(TYPED_TEXT)) <= 3


def test_quotes_are_curled_and_spaces_added() -> None:
    text = typed("quotes-and-spaces")
    assert " ".join(text.split()) == "He said: “I don’t know NATO’s plans for 2024.”"
    assert text.count(" ") > TYPED_TEXT.count(" ")


def test_a_harmful_noise_has_a_significant_loss() -> None:
    plain = translated(["در باز است."] * 8)
    noisy = [translated(["در باز است." if way == "typos" else "x"] * 8, plain.text.references) for way in WAYS]
    bootstrap = compare_noise(plain, noisy).tests[0]
    losses = {result.system: (result.difference, result.p_value) for result in bootstrap.systems[1:]}
    assert list(losses) == list(WAYS)
    assert losses.pop("typos") == (0, 1)
    for difference, p_value in losses.values():
        assert difference == -100
        assert p_value is not None
        assert p_value < 0.05
