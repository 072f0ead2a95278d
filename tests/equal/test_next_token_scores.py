"""Other sources of next-token scores equal the model alone where they have nothing to add."""

import pytest
import torch

from tests.support.known_model import assert_same_hypotheses
from tests.support.search_settings import beam
from tests.support.small_model import small_batch, small_model
from translator.config import SearchConfig
from translator.core.hypothesis import Hypothesis
from translator.core.search import beam_search
from translator.search.constraints import Constraints
from translator.search.ensemble import Ensemble
from translator.search.request import SearchRequest
from translator.speed.top_k import largest_of_groups


def assert_same_results(results: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    for hypotheses, expected_hypotheses in zip(results, expected, strict=True):
        assert_same_hypotheses(hypotheses, expected_hypotheses)


def no_constraints(limits: list[int]) -> Constraints:
    request = SearchRequest(rows=[[]] * len(limits), config=SearchConfig())
    return Constraints(request, [0] * len(limits), torch.device("cpu"))


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
