"""How the translations of a text's pieces become those of the text."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.inference import Alignment, Translation
from translator.inference.translation import join_pieces
from translator.search import Hypothesis


def one(text: str, score: float, **more: bool) -> Translation:
    return Translation(text, 2 * score, score, 2, 1, more.get("finished", True))


def test_of_a_hypothesis() -> None:
    hypothesis = Hypothesis((5, 6), -3.0, -1.5, True)
    assert Translation.of("x", hypothesis) == Translation("x", -3.0, -1.5, 3, 1, True)
    stopped = Hypothesis((5, 6), -3.0, -1.5, False)
    assert Translation.of("x", stopped) == Translation("x", -3.0, -1.5, 2, 1, False)


def test_of_one_piece() -> None:
    assert join_pieces([[one("a", -1), one("b", -2)]], 1, ranked=True) == [one("a", -1)]


def test_the_first_is_made_of_the_best_of_each() -> None:
    pieces = [[one("a", -1.0), one("b", -4.0)], [one("c", -2.0), one("d", -2.5, finished=False)]]
    found = join_pieces(pieces, 3, ranked=True)
    assert [translation.text for translation in found] == ["a c", "a d", "b c"]
    assert found[0] == Translation("a c", -6.0, -1.5, 4, 2, True)
    assert found[1] == Translation("a d", -7.0, -1.75, 4, 2, False)


def test_draws_are_joined_in_turn() -> None:
    pieces = [[one("a", -1.0), one("b", -4.0)], [one("c", -2.0), one("d", -0.5)]]
    assert [joined.text for joined in join_pieces(pieces, 5, ranked=False)] == ["a c", "b d"]


scores = st.lists(st.integers(-20, 0), min_size=1, max_size=3)


@given(st.lists(scores, min_size=2, max_size=5), st.integers(1, 5))
def test_the_best_of_all_combinations(pieces: list[list[int]], count: int) -> None:
    translations = [[one(f"{n}", score) for n, score in enumerate(sorted(piece, reverse=True))] for piece in pieces]
    found = join_pieces(translations, count, ranked=True)
    everything = sorted((sum(chosen) / len(chosen) for chosen in itertools.product(*pieces)), reverse=True)
    assert [joined.normalized_score for joined in found] == pytest.approx(everything[:count])


def test_a_text_of_very_many_pieces() -> None:
    (joined, *_) = join_pieces([[one("a", -1.0), one("b", -2.0)]] * 20_000, 3, ranked=True)
    assert joined.text == " ".join("a" * 20_000)


def test_alignments_follow_one_another() -> None:
    first = Alignment(("a", "b"), ("x",), ((1, 0),))
    second = Alignment(("c",), ("y", "z"), ((0, 0), (0, 1)))
    joined = Alignment.joined([first, second])
    assert joined == Alignment(("a", "b", "c"), ("x", "y", "z"), ((1, 0), (2, 1), (2, 2)))
    assert joined.pharaoh == "1-0 2-1 2-2"


def test_json_has_no_infinity() -> None:
    record = Translation("x", -math.inf, -math.inf, 1, 1, False).to_json()
    assert (record["score"], record["normalized_score"]) == (None, None)
