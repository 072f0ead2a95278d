"""Systems are compared only on the same sentences; wins and losses are counted."""

import json
from typing import Any

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.translated_sets import HOSTILE, translated
from translator.errors import InputError
from translator.evaluation.compare import check_same_test_set, compare_systems
from translator.evaluation.terminal_report import format_comparison
from translator.run.text import printable

SOURCES = ["The door is open.", "He reads.", "She left.", "It is cold."]
REFERENCES = ["در باز است.", "او می‌خواند.", "او رفت.", "هوا سرد است."]
BASELINE = translated(["در باز است.", "او کتاب", "ماند", "سرد"], REFERENCES, SOURCES, system="a")
SYSTEM = translated(["در بسته است", "او می‌خواند.", "ماند", "هوا سرد است"], REFERENCES, SOURCES, system="b")


@pytest.fixture(scope="module")
def by_sentence() -> dict[str, Any]:
    (entry,) = compare_systems([BASELINE, SYSTEM], metrics=("chrf",)).to_json()["by_sentence"]
    compared: dict[str, Any] = entry
    return compared


def test_wins_losses_and_ties_are_counted(by_sentence: dict[str, Any]) -> None:
    assert (by_sentence["wins"], by_sentence["losses"], by_sentence["ties"]) == (2, 1, 1)


def test_the_largest_differences_are_listed_first(by_sentence: dict[str, Any]) -> None:
    assert [difference["sentence"] for difference in by_sentence["worse"]] == [1]
    assert [difference["sentence"] for difference in by_sentence["better"]] == [2, 4]


def test_a_difference_has_the_texts_of_its_sentence(by_sentence: dict[str, Any]) -> None:
    difference = by_sentence["better"][0]
    assert (difference["source"], difference["references"]) == (SOURCES[1], (REFERENCES[1],))
    assert (difference["baseline"], difference["system"]) == ("او کتاب", "او می‌خواند.")


def test_a_difference_has_the_sentence_chrf_of_sacrebleu(by_sentence: dict[str, Any]) -> None:
    difference = by_sentence["better"][0]
    assert difference["baseline_chrf"] == sacrebleu.sentence_chrf("او کتاب", [REFERENCES[1]]).score
    assert difference["system_chrf"] == sacrebleu.sentence_chrf("او می‌خواند.", [REFERENCES[1]]).score


@settings(deadline=None, max_examples=15)
@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE, HOSTILE), min_size=1, max_size=4))
def test_any_text_is_compared_in_both_directions(rows: list[tuple[str, str, str, str]]) -> None:
    sources, references, first_hypotheses, second_hypotheses = zip(*rows, strict=True)
    first = translated(first_hypotheses, references, sources, system="first")
    second = translated(second_hypotheses, references, sources, system="second")
    comparison = compare_systems([first, second], metrics=("bleu", "chrf"))
    reverse_comparison = compare_systems([second, first], metrics=("chrf",))

    # Each sentence is won, lost or tied, and the other direction exchanges wins and losses.
    forward = comparison.count_sentences("second")
    backward = reverse_comparison.count_sentences("first")
    assert sum(forward.values()) == len(rows)
    assert backward["wins"] == forward["losses"]
    assert backward["losses"] == forward["wins"]
    assert backward["ties"] == forward["ties"]

    # The result can be saved and printed.
    json.dumps(comparison.to_json(), allow_nan=False)
    for line in format_comparison(comparison):
        assert printable(line) == line


@pytest.mark.parametrize(
    ("sources", "references", "message"),
    [
        (SOURCES[:3], REFERENCES[:3], "they have 4 and 3 sentences"),
        (
            [*SOURCES[:2], "He left.", "It was cold."],
            REFERENCES,
            "sentence 3 has different sources",
        ),
        (
            SOURCES,
            [*REFERENCES[:3], "هوا سرد بود."],
            "sentence 4 has different references",
        ),
        (SOURCES, [(text, text) for text in REFERENCES], "sentence 1 has different references"),
    ],
)
def test_comparison_on_different_sentences_is_refused(
    sources: list[str], references: list[str | tuple[str, ...]], message: str
) -> None:
    system = translated(SOURCES[: len(sources)], references, sources, system="b")
    with pytest.raises(InputError, match=f"^`a` and `b` cannot be compared on `held`: {message}.*on the same test set"):
        check_same_test_set({"a": BASELINE, "b": system})
