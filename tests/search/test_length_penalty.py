"""The length penalty and the normalized score."""

import pytest

from translator.config import SearchConfig
from translator.search.hypothesis import Hypothesis
from translator.search.length_penalty import length_penalty


@pytest.mark.parametrize(
    ("normalization", "alpha", "length", "expected"),
    [("gnmt", 1.0, 7, 2.0), ("gnmt", 0.5, 19, 2.0), ("gnmt", 0.0, 100, 1.0), ("average", 0.5, 9, 3.0)],
)
def test_the_length_penalty_of_a_length(normalization: str, alpha: float, length: int, expected: float) -> None:
    config = SearchConfig.model_validate({"length_normalization": normalization, "length_penalty": alpha})
    assert length_penalty(float(length), config) == pytest.approx(expected)


@pytest.mark.parametrize(("finished", "expected"), [(True, -0.25 * 7 / 2.0), (False, -0.25 * 6 / (11 / 6))])
def test_the_eos_of_a_finished_hypothesis_counts_in_its_length(finished: bool, expected: float) -> None:
    hypothesis = Hypothesis.from_tokens([4] * 6, [-0.25] * (6 + finished), finished, SearchConfig(length_penalty=1.0))
    assert hypothesis.normalized_score == pytest.approx(expected)
