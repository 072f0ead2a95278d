"""The translations of segments are joined into those of a text: in order, with what lies between, the best first."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.inference.text.joining import join_segments
from translator.inference.translation import Translation


def scored(text: str, score: float, finished: bool = True) -> Translation:
    """Return a translation of two tokens; `score` is that of a token."""
    return Translation(text=text, score=2 * score, normalized_score=score, tokens=2, pieces=1, finished=finished)


SEGMENTS = [[scored("a", -1.0), scored("b", -4.0)], [scored("c", -2.0), scored("d", -2.5, finished=False)]]


def test_joined_segments_are_ranked_and_have_summed_scores() -> None:
    assert join_segments(SEGMENTS, ["", " ", ""], 3, ranked=True) == [
        Translation("a c", -6.0, -1.5, 4, 2, True),
        Translation("b c", -12.0, -3.0, 4, 2, True),
        Translation("a d", -7.0, -1.75, 4, 2, False),  # what was cut off comes last
    ]


def test_draws_are_joined_by_number_and_then_ranked() -> None:
    draws = [[scored("b", -4.0), scored("a", -1.0)], [scored("c", -2.0), scored("d", -2.5)]]
    joined = join_segments(draws, ["", " ", ""], 5, ranked=False)
    assert [translation.text for translation in joined] == ["a d", "b c"]


@given(st.lists(st.lists(st.integers(-20, 0), min_size=1, max_size=3), min_size=2, max_size=5), st.integers(1, 5))
def test_ranked_joining_finds_the_best_combinations_of_segments(segment_scores: list[list[int]], count: int) -> None:
    segments = [[scored("", score) for score in sorted(scores, reverse=True)] for scores in segment_scores]
    joined = join_segments(segments, [""] * (len(segments) + 1), count, ranked=True)

    # All segments have the same number of tokens, so a combination has the mean of their scores.
    means = [sum(scores) / len(scores) for scores in itertools.product(*segment_scores)]
    assert [translation.normalized_score for translation in joined] == pytest.approx(
        sorted(means, reverse=True)[:count]
    )
