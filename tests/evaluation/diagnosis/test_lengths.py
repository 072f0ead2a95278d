"""Lengths are compared with the nearest reference, short sentences left alone."""

import pytest
from translated_sets import ModelScore, translated

from translator.evaluation.diagnosis.lengths import find_lengths, find_unfinished, length_figures, nearest_length

TEN = "ابپتثجچحخد"


@pytest.mark.parametrize(
    ("hypothesis", "references", "names"),
    [
        (TEN * 2, (TEN * 4,), []),
        (TEN * 2 + "ا", (TEN,), ["too_long"]),
        (TEN * 5, (TEN * 2,), ["too_long"]),
        (TEN * 2, (TEN * 5,), ["too_short"]),
        (TEN * 5, (TEN * 2, TEN * 4), []),
        ("نه", ("به هیچ وجه",), []),
        ("", (TEN * 5,), []),
        (TEN * 5, ("",), []),
    ],
)
def test_outliers(hypothesis: str, references: tuple[str, ...], names: list[str]) -> None:
    found = find_lengths(translated([hypothesis], [references]), 3)
    assert [one.name for one in found if one.count] == names


def test_the_nearest_reference_counts() -> None:
    assert nearest_length("چهار", ["دو", "چهارده", "", "ده حرفی است"]) == 6
    assert nearest_length("", ["سه"]) == 2
    assert nearest_length("چهار", ["", " "]) == 0


def test_the_distribution() -> None:
    ratios = [number / 100 for number in range(101)]
    figures = length_figures(ratios)
    assert list(figures.values()) == [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0]
    assert figures["ratio, median"] == 0.5
    assert length_figures(list(reversed(ratios))) == figures
    assert length_figures([]) == {}
    assert set(length_figures([0.7]).values()) == {0.7}
    short, _ = find_lengths(translated(["دو سه", ""], ["دو سه چهار", "نه"]), 3)
    assert short.of == 1, "an empty translation has no length"
    assert short.figures["ratio, highest"] == 0.5


def test_hypotheses_that_never_ended() -> None:
    assert find_unfinished(translated(["یک"]), 3) is None
    scores = tuple(ModelScore("یک", -1, -1, tokens, finished=tokens < 9) for tokens in (4, 9, 12))
    found = find_unfinished(translated(["یک"] * 3, hypothesis_scores=scores), 3)
    assert found is not None
    assert found.sentences == (2, 3)
    assert found.examples[0].note == "stopped after 12 tokens"
