"""Scores of targets that are there already."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from known_model import KnownModel, sources
from pytest import MonkeyPatch

from translator.search import AveragePenalty, score_targets
from translator.search import rescore as rescore_module
from translator.special_tokens import UNK

TARGETS = st.lists(
    st.tuples(st.lists(st.sampled_from([UNK, 4, 5, 6]), min_size=1, max_size=7), st.booleans()), max_size=6
)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), TARGETS, st.integers(1, 30))
def test_each_token_gets_what_the_model_gives_it(
    seed: int, targets: list[tuple[list[int], bool]], at_once: int
) -> None:
    model = KnownModel(seed)
    names = list(range(10, 10 + len(targets)))
    with MonkeyPatch.context() as patch:
        patch.setattr(rescore_module, "TARGET_POSITIONS_AT_ONCE", at_once)
        found = score_targets(
            model,
            sources(*names),
            [tokens for tokens, _ in targets],
            AveragePenalty(1.0),
            [finished for _, finished in targets],
        )
    for name, (tokens, finished), hypothesis in zip(names, targets, found, strict=True):
        expected = model.token_scores(name, tuple(tokens), finished)
        assert (hypothesis.tokens, hypothesis.finished) == (tuple(tokens), finished)
        assert hypothesis.token_scores == pytest.approx(expected, abs=1e-5)
        assert hypothesis.score == pytest.approx(sum(expected), abs=1e-5)
        assert hypothesis.normalized_score == pytest.approx(sum(expected) / len(expected), abs=1e-5)


def test_a_target_is_taken_to_end_where_nothing_else_is_said() -> None:
    model = KnownModel(1)
    (empty, other) = score_targets(model, sources(10, 11), [[], [4, 5]])
    assert empty.finished and empty.tokens == () and len(empty.token_scores) == 1
    assert other.score == pytest.approx(model.score(11, (4, 5), True), abs=1e-5)


def test_no_targets() -> None:
    assert score_targets(KnownModel(1), torch.empty(0, 4, dtype=torch.long), []) == []
