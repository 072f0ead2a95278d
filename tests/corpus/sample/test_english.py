"""English morphology against forms written down by hand."""

from __future__ import annotations

import pytest

from translator.corpus.sample import english

GO = ("go", "went", "gone", "going")


@pytest.mark.parametrize(
    ("word", "expected"),
    [("apple", "an"), ("book", "a"), ("university", "a"), ("hour", "an"), ("honest man", "an"), ("useful map", "a")],
)
def test_article(word: str, expected: str) -> None:
    assert english.article(word) == expected


@pytest.mark.parametrize(
    ("base", "third", "past", "gerund"),
    [
        ("walk", "walks", "walked", "walking"),
        ("study", "studies", "studied", "studying"),
        ("play", "plays", "played", "playing"),
        ("dance", "dances", "danced", "dancing"),
        ("watch", "watches", "watched", "watching"),
        ("wash", "washes", "washed", "washing"),
    ],
)
def test_regular_verbs(base: str, third: str, past: str, gerund: str) -> None:
    assert (english.third_person(base), english.regular_past(base), english.regular_gerund(base)) == (
        third,
        past,
        gerund,
    )


def test_irregular_third_persons() -> None:
    assert [english.third_person(base) for base in ("go", "have", "do")] == ["goes", "has", "does"]


@pytest.mark.parametrize(
    ("noun", "plural"), [("book", "books"), ("city", "cities"), ("box", "boxes"), ("boy", "boys"), ("watch", "watches")]
)
def test_plurals(noun: str, plural: str) -> None:
    assert english.pluralize(noun) == plural


@pytest.mark.parametrize(
    ("tense", "negative", "expected"),
    [
        ("present", False, "goes"),
        ("present", True, "does not go"),
        ("past", False, "went"),
        ("past", True, "did not go"),
        ("progressive", False, "is going"),
        ("past progressive", True, "was not going"),
        ("perfect", False, "has gone"),
        ("past perfect", False, "had gone"),
        ("future", True, "will not go"),
        ("used to", False, "used to go"),
        ("can", True, "cannot go"),
        ("must", True, "must not go"),
    ],
)
def test_verb_groups(tense: str, negative: bool, expected: str) -> None:
    assert " ".join(part for part in english.verb_group(GO, tense, 3, False, negative) if part) == expected


def test_questions_take_do() -> None:
    assert english.question_group(GO, "present", 3, False, False) == ("does", "", "go")
    assert english.question_group(GO, "past", 1, False, True) == ("did", "not", "go")
    assert english.question_group(GO, "perfect", 3, True, False) == ("have", "", "gone")


def test_unknown_tense() -> None:
    with pytest.raises(ValueError, match="no English tense 'aorist'"):
        english.verb_group(GO, "aorist", 3, False, False)
