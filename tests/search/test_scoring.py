"""Scores of given targets."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.known_model import KnownModel, assert_same_hypotheses
from translator.config import SearchConfig
from translator.core import UNK
from translator.inference.engines import torch_searcher
from translator.inference.engines.torch_searcher import TorchSearcher

TARGETS = st.lists(st.lists(st.sampled_from([UNK, 4, 5, 6]), max_size=7), max_size=8)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), targets=TARGETS, positions_at_once=st.integers(1, 30))
def test_target_scores_equal_the_models_log_probabilities(
    seed: int, targets: list[list[int]], positions_at_once: int
) -> None:
    model: Any = KnownModel(seed)
    config = SearchConfig(length_normalization="average")
    names = range(10, 10 + len(targets))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_searcher, "_TARGET_POSITIONS_AT_ONCE", positions_at_once)
        searcher = TorchSearcher([model], torch.device("cpu"))
        hypotheses = searcher.score([[name] for name in names], targets, config.settings)
    expected = []
    for name, target in zip(names, targets, strict=True):
        expected.append(model.hypothesis(name, tuple(target), True, config.settings))
    assert_same_hypotheses(hypotheses, expected)
