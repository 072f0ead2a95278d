"""Hypotheses."""

import pytest

from translator.search import AveragePenalty, GnmtPenalty, Hypothesis


def test_the_end_counts_as_a_token_of_a_finished_hypothesis() -> None:
    finished = Hypothesis.from_tokens([4, 5, 4, 5, 4, 5], [-0.25] * 6 + [-1.5], True, GnmtPenalty(1.0))
    assert finished.tokens == (4, 5, 4, 5, 4, 5)
    assert finished.token_scores == (*[-0.25] * 6, -1.5)
    assert finished.score == -3.0
    assert finished.normalized_score == pytest.approx(-3.0 * 6 / 12)
    unfinished = Hypothesis.from_tokens([4, 5, 4, 5, 4, 5], [-0.5] * 6, False, GnmtPenalty(1.0))
    assert unfinished.normalized_score == pytest.approx(-3.0 * 6 / 11)
    assert Hypothesis.from_tokens([4], [-1.0, -2.0], True, AveragePenalty(1.0)).normalized_score == -1.5
