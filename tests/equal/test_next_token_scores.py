"""Other sources of next-token scores equal the model alone where they have nothing to add."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.known_model import KnownModel, assert_same_hypotheses, sources
from tests.support.search_settings import ALPHAS, SEEDS, beam
from tests.support.small_model import small_batch, small_model
from translator.config import SearchConfig
from translator.core.hypothesis import Hypothesis, SearchSettings
from translator.core.search import Prohibition, SearchModel, beam_search
from translator.search.constraints import Constraints
from translator.search.ensemble import Ensemble
from translator.search.request import SearchRequest
from translator.speed.top_k import largest_of_groups

SEARCHES = st.builds(beam, st.integers(1, 4), ALPHAS)
LIMITS = st.lists(st.integers(1, 9), min_size=1, max_size=4)


def assert_same_results(results: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    for hypotheses, expected_hypotheses in zip(results, expected, strict=True):
        assert_same_hypotheses(hypotheses, expected_hypotheses)


def results_of(
    model: SearchModel[Any], limits: list[int], search: SearchSettings, constraints: Prohibition | None = None
) -> list[list[Hypothesis]]:
    source = sources(*range(10, 10 + len(limits)))
    return beam_search(model, source, torch.tensor(limits), search, search.beam_size, constraints)


def no_constraints(limits: list[int]) -> Constraints:
    request = SearchRequest(rows=[[]] * len(limits), config=SearchConfig())
    return Constraints(request, [0] * len(limits), torch.device("cpu"))


@settings(deadline=None, max_examples=30)
@given(SEEDS, LIMITS, SEARCHES)
def test_an_ensemble_of_equal_models_searches_as_one_of_them(
    seed: int, limits: list[int], search: SearchSettings
) -> None:
    ensemble = Ensemble([KnownModel(seed), KnownModel(seed)])
    assert_same_results(results_of(ensemble, limits, search), results_of(KnownModel(seed), limits, search))


@settings(deadline=None, max_examples=30)
@given(SEEDS, LIMITS, SEARCHES)
def test_constraints_that_forbid_nothing_change_nothing(seed: int, limits: list[int], search: SearchSettings) -> None:
    nothing = no_constraints(limits)
    model = KnownModel(seed)
    assert_same_results(results_of(model, limits, search, nothing), results_of(model, limits, search))


@pytest.mark.parametrize("width", [1, 3])
def test_a_transformer_finds_the_same_with_either_and_with_the_other_top_k(width: int) -> None:
    model = small_model().eval()
    source, _, _ = small_batch()
    longest = torch.tensor([9, 5])
    expected = beam_search(model, source, longest, beam(width), width)
    nothing = no_constraints([9, 5])
    assert_same_results(beam_search(model, source, longest, beam(width), width, nothing), expected)
    assert_same_results(beam_search(Ensemble([model, model]), source, longest, beam(width), width), expected)
    in_two_stages = beam_search(model, source, longest, beam(width), width, top_k=largest_of_groups)
    assert_same_results(in_two_stages, expected)


@torch.no_grad()
def test_teacher_forcing_of_an_ensemble_of_equal_models_is_that_of_one() -> None:
    model = small_model().eval()
    source, target_input, _ = small_batch()
    log_probabilities = model(source, target_input).log_softmax(-1)
    torch.testing.assert_close(Ensemble([model, model])(source, target_input), log_probabilities)
