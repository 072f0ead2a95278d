"""A search error is a reference that the model itself prefers, under either score."""

import math

import pytest
from translated_sets import ModelScore, translated

from translator.evaluation.diagnosis.search_errors import find_search_errors


def test_margins() -> None:
    ours = (ModelScore("الف", -4.0, -1.0), ModelScore("ب", -2.0, -1.0), ModelScore("پ", -3.0, -1.0))
    theirs = (ModelScore("۱", -3.0, -1.5), ModelScore("۲", -2.0, -1.0), ModelScore("۳", -1.0, -0.5))
    plain, normalized = find_search_errors(
        translated(["الف", "ب", "پ"], ["۱", "۲", "۳"], hypothesis_scores=ours, reference_scores=theirs), 3
    )
    assert plain.sentences == (1, 3)
    assert plain.figures["mean margin"] == 1.5
    assert plain.examples[0].sentence == 3
    assert plain.examples[0].note == "the reference is better by 2.000"
    assert normalized.sentences == (3,)
    assert normalized.figures["mean margin"] == 0.5
    assert plain.of == normalized.of == 3


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (ModelScore("الف", -4, -4, pieces=2), ModelScore("ب", -1, -1)),
        (ModelScore("الف", -4, -4), ModelScore("ب", -1, -1, pieces=0)),
        (ModelScore("الف", -math.inf, -4), ModelScore("ب", -1, -1)),
        (ModelScore("الف", -4, -4), ModelScore("ب", -1, math.nan)),
        (ModelScore("الف", -4, -4), ModelScore("ب", -math.inf, -math.inf)),
        (ModelScore("الف", -4, -4, finished=False), ModelScore("ب", -1, -1)),
        (ModelScore("الف", -4, -4), ModelScore("\u2047 ب", -1, -1)),
    ],
)
def test_what_cannot_be_compared_is_left_out(ours: ModelScore, theirs: ModelScore) -> None:
    for found in find_search_errors(translated(["الف"], hypothesis_scores=(ours,), reference_scores=(theirs,)), 3):
        assert (found.of, found.count, found.share) == (0, 0, 0.0)


def test_a_reference_that_the_search_may_not_write_is_left_out_and_counted() -> None:
    ours = (ModelScore("الف", -4, -4), ModelScore("ب", -4, -4), ModelScore("پ", -4, -4, finished=False))
    theirs = tuple(ModelScore("ت", -1, -1, finished=finished) for finished in (True, False, False))
    scored = translated(["الف", "ب", "پ"], hypothesis_scores=ours, reference_scores=theirs)
    for found in find_search_errors(scored, 3):
        assert (found.of, found.sentences) == (1, (1,)), "the third is left out for what the translation is"
        assert found.figures["left out, the reference being longer than the search may go"] == 1


def test_the_same_text_is_no_error() -> None:
    ours, theirs = (ModelScore("الف", -4, -4),), (ModelScore("الف", -1, -1),)
    for found in find_search_errors(translated(["الف"], hypothesis_scores=ours, reference_scores=theirs), 3):
        assert (found.of, found.count) == (1, 0)


def test_the_same_text_in_another_spelling_is_no_error() -> None:
    """The reference has Arabic letters, and the model scores it with Persian ones."""
    ours, theirs = (ModelScore("کتاب", -4, -4),), (ModelScore("کتاب", -1, -1),)
    scored = translated(["کتاب"], ["كتاب"], hypothesis_scores=ours, reference_scores=theirs)
    for found in find_search_errors(scored, 3):
        assert (found.of, found.count) == (1, 0)


@pytest.mark.parametrize(("margin", "count"), [(5e-5, 0), (2e-4, 1)])
def test_rounding_is_no_error(margin: float, count: int) -> None:
    ours, theirs = (ModelScore("الف", -1, -1),), (ModelScore("ب", -1 + margin, -1 + margin),)
    for found in find_search_errors(translated(["الف"], hypothesis_scores=ours, reference_scores=theirs), 3):
        assert found.count == count


def test_without_scores_nothing_is_found() -> None:
    assert find_search_errors(translated(["الف"]), 3) == []
    assert find_search_errors(translated(["الف"], hypothesis_scores=(ModelScore("الف", -1, -1),)), 3) == []
