"""Scores of given targets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.known_model import KnownModel, assert_same_hypotheses, sources
from translator.config import SearchConfig
from translator.core import UNK
from translator.search import scoring
from translator.search.scoring import score_targets

TARGETS = st.lists(st.lists(st.sampled_from([UNK, 4, 5, 6]), max_size=7), max_size=8)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), targets=TARGETS, positions_at_once=st.integers(1, 30))
def test_target_scores_equal_the_models_log_probabilities(
    seed: int, targets: list[list[int]], positions_at_once: int
) -> None:
    model = KnownModel(seed)
    config = SearchConfig(length_normalization="average")
    names = range(10, 10 + len(targets))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "TARGET_POSITIONS_AT_ONCE", positions_at_once)
        hypotheses = score_targets(model, sources(*names), targets, config)
    expected = []
    for name, target in zip(names, targets, strict=True):
        expected.append(model.hypothesis(name, tuple(target), True, config.settings))
    assert_same_hypotheses(hypotheses, expected)
