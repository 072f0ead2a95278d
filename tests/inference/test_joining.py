"""The translations of segments are joined into those of a text: in order, with what lies between, the best first."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.inference.joining import join_segments
from translator.inference.translation import Translation


def scored(text: str, score: float, finished: bool = True) -> Translation:
    return Translation(text, 2 * score, score, 2, 1, finished)


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
    (joined,) = join_segments([[scored(text, -1.0)] for text in texts], between, 1, ranked=True)
    assert joined.text == expected


def test_joined_segments_are_ranked_combinations_or_samples_in_order() -> None:
    pieces = [[scored("a", -1.0), scored("b", -4.0)], [scored("c", -2.0), scored("d", -2.5, finished=False)]]
    found = join_segments(pieces, ["", " ", ""], 3, ranked=True)
    assert [translation.text for translation in found] == ["a c", "a d", "b c"]
    assert found[0] == Translation("a c", -6.0, -1.5, 4, 2, True)
    assert found[1] == Translation("a d", -7.0, -1.75, 4, 2, False)
    assert [joined.text for joined in join_segments(pieces, ["", " ", ""], 5, ranked=False)] == ["a c", "b d"]


@given(st.lists(st.lists(st.integers(-20, 0), min_size=1, max_size=3), min_size=2, max_size=5), st.integers(1, 5))
def test_ranked_joining_finds_the_best_combinations_of_segments(pieces: list[list[int]], count: int) -> None:
    translations = [[scored(f"{n}", score) for n, score in enumerate(sorted(piece, reverse=True))] for piece in pieces]
    found = join_segments(translations, [""] * (len(pieces) + 1), count, ranked=True)
    everything = sorted((sum(chosen) / len(chosen) for chosen in itertools.product(*pieces)), reverse=True)
    assert [joined.normalized_score for joined in found] == pytest.approx(everything[:count])
