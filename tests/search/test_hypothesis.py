"""Hypotheses."""

import pytest

from translator.search import Hypothesis


def test_the_end_counts_as_a_token_of_a_finished_hypothesis() -> None:
    finished = Hypothesis.from_tokens([4, 5, 4, 5, 4, 5], -3.0, True, 1.0)
    assert finished == Hypothesis((4, 5, 4, 5, 4, 5), -3.0, finished.normalized_score, True)
    assert finished.normalized_score == pytest.approx(-3.0 * 6 / 12)
    assert Hypothesis.from_tokens([4, 5, 4, 5, 4, 5], -3.0, False, 1.0).normalized_score == pytest.approx(-3.0 * 6 / 11)
