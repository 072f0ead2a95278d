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


@pytest.mark.parametrize(
    ("texts", "between", "expected"),
    [
        (["a", "b"], ["• ", "  ", " →"], "• a  b →"),
        (["", "b"], ["", " ", ""], "b"),
        (["a", "", "c"], ["", " ", "  ", ""], "a c"),
        (["", ""], ["", " * ", ""], "*"),
    ],
)
def test_joined_segments_have_the_text_between_them(texts: list[str], between: list[str], expected: str) -> None:
    segments = [[scored(text, -1.0)] for text in texts]
    (joined,) = join_segments(segments, between, 1, ranked=True)
    assert joined.text == expected


SEGMENTS = [[scored("a", -1.0), scored("b", -4.0)], [scored("c", -2.0), scored("d", -2.5, finished=False)]]


def test_joined_segments_are_ranked_combinations() -> None:
    joined = join_segments(SEGMENTS, ["", " ", ""], 3, ranked=True)
    assert [translation.text for translation in joined] == ["a c", "b c", "a d"], "what was cut off comes last"


def test_a_joined_translation_has_summed_scores_tokens_and_pieces() -> None:
    joined = join_segments(SEGMENTS, ["", " ", ""], 3, ranked=True)
    assert joined[0] == Translation("a c", -6.0, -1.5, 4, 2, True)
    assert joined[2] == Translation("a d", -7.0, -1.75, 4, 2, False), "an unfinished segment leaves it unfinished"


def test_joined_samples_stay_in_order() -> None:
    joined = join_segments(SEGMENTS, ["", " ", ""], 5, ranked=False)
    assert [translation.text for translation in joined] == ["a c", "b d"]


SCORES_OF_A_SEGMENT = st.lists(st.integers(-20, 0), min_size=1, max_size=3)


@given(st.lists(SCORES_OF_A_SEGMENT, min_size=2, max_size=5), st.integers(1, 5))
def test_ranked_joining_finds_the_best_combinations_of_segments(segment_scores: list[list[int]], count: int) -> None:
    segments = []
    for scores in segment_scores:
        segments.append([scored("", score) for score in sorted(scores, reverse=True)])
    no_text_between = [""] * (len(segments) + 1)
    joined = join_segments(segments, no_text_between, count, ranked=True)

    # All segments have the same number of tokens, so a combination has the mean of their scores.
    combinations = itertools.product(*segment_scores)
    means = [sum(scores) / len(scores) for scores in combinations]
    expected = sorted(means, reverse=True)[:count]
    assert [translation.normalized_score for translation in joined] == pytest.approx(expected)
