"""Empty translations, and one translation for sources that have nothing in common."""

import pytest
from translated_sets import translated

from translator.evaluation.diagnosis.absent import MANY, find_empty, find_identical


@pytest.mark.parametrize(
    ("source", "hypothesis", "reference", "found"),
    [
        ("A door.", "", "در.", 1),
        ("A door.", " \u200c . ", "در.", 1),
        ("A door.", "در", "در.", 0),
        ("...", "", "…", 0),
        ("A door.", "", "", 0),
    ],
)
def test_empty(source: str, hypothesis: str, reference: str, found: int) -> None:
    assert find_empty(translated([hypothesis], [reference], [source]), 3).count == found


def test_one_translation_of_different_sources() -> None:
    said = ["به خانه می‌رفت.", "به خانه می‌رفت!", "او در باغ است.", "به خانه می‌رفت"]
    references = ["کتاب را خواند.", "هوا سرد بود.", "او در باغ است.", "به خانه رفت."]
    sources = ["She read the book.", "It was cold.", "She is in the garden.", "He was going home."]
    found = find_identical(translated(said, references, sources), 3)
    assert found.sentences == (1, 2, 4)
    assert found.of == 4
    assert found.examples[0].note == "the same for 2 other sources: به خانه می‌رفت"


@pytest.mark.parametrize(
    ("sources", "references", "hypothesis"),
    [
        (["I go home.", "I go home!"], ["می‌روم خانه.", "من به خانه می‌روم."], "به خانه می‌روم"),
        (["I'd like to go home.", "I would like to go home."], ["می‌خواهم بروم.", "باید بروم."], "دوست دارم بروم"),
        (["Thanks.", "I thank you."], ["سپاس.", "از شما متشکرم."], "خیلی ممنون"),
        (["He went.", "They took their leave."], ["به خانه رفت.", "به خانه رفت"], "به خانه رفت"),
    ],
)
def test_what_may_well_have_one_translation(sources: list[str], references: list[str], hypothesis: str) -> None:
    assert find_identical(translated([hypothesis] * 2, references, sources), 3).count == 0


def test_very_many_sources_are_not_looked_at_in_pairs() -> None:
    number = 40 * MANY
    found = find_identical(
        translated(
            ["به خانه می‌رفت"] * number, [f"جمله {n}" for n in range(number)], [f"word{n}" for n in range(number)]
        ),
        1,
    )
    assert found.count == number
    assert found.examples[0].note.startswith(f"the same for {number - 1} other sources")
