"""Scores of tokens and hypotheses: ties, penalties, ensembles, rescoring."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from known_model import KnownModel, same, sources
from translator.search.algorithms import beam_search

from translator.config import SearchConfig
from translator.search import scoring
from translator.search.hypothesis import Hypothesis, length_penalty, lengths_of_outputs
from translator.search.scoring import Ensemble, largest, log_mean_probabilities, output_lengths, score_targets
from translator.special_tokens import EOS, PAD, UNK


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 4), st.integers(1, 60), st.integers(1, 12), st.integers(1, 9), st.integers(0, 10**6))
def test_largest_breaks_ties_by_lowest_index(rows: int, size: int, count: int, levels: int, seed: int) -> None:
    values = torch.randint(levels, (rows, size), generator=torch.Generator().manual_seed(seed)).float().log()
    best, places = largest(values, count)
    ordered = values.sort(dim=1, descending=True, stable=True)
    assert torch.equal(best, ordered.values[:, :count])
    allowed = best > -torch.inf
    assert torch.equal(places[allowed], ordered.indices[:, :count][allowed])
    assert (places.sort(dim=1).values.diff(dim=1) > 0).all()


@pytest.mark.parametrize(
    ("kind", "alpha", "length", "expected"),
    [("gnmt", 1.0, 7, 2.0), ("gnmt", 0.5, 19, 2.0), ("gnmt", 0.0, 100, 1.0), ("average", 0.5, 9, 3.0)],
)
def test_the_length_penalty_counts_the_eos_token(kind: str, alpha: float, length: int, expected: float) -> None:
    config = SearchConfig.model_validate({"length_normalization": kind, "length_penalty": alpha})
    assert length_penalty(float(length), config) == pytest.approx(expected)
    finished = Hypothesis.from_tokens([4] * (length - 1), [-0.25] * length, True, config)
    assert (
        finished.normalized_score
        == pytest.approx(finished.score / expected)
        == pytest.approx(-0.25 * length / expected)
    )


SOURCE = torch.tensor([[5, 6, EOS, PAD], [5, 6, 7, EOS], [PAD, PAD, PAD, PAD]])


@pytest.mark.parametrize(
    ("ratios", "positions", "prefixes", "shortest", "longest"),
    [
        ((0.0, 1.5), 15, None, [0, 0, 0], [14, 15, 10]),
        ((1.5, 2.0), 100, None, [4, 6, 0], [16, 18, 10]),
        ((1.5, 2.0), 3, None, [3, 3, 0], [3, 3, 3]),
        ((0.0, 1.5), 100, [3, 9, 0], [0, 0, 0], [14, 19, 10]),
        ((0.0, 1.5), 17, [3, 9, 0], [0, 0, 0], [14, 17, 10]),
    ],
)
def test_length_limits_follow_the_source_and_leave_room_after_a_prefix(
    ratios: tuple[float, float], positions: int, prefixes: list[int] | None, shortest: list[int], longest: list[int]
) -> None:
    config = SearchConfig(min_length_ratio=ratios[0], max_length_ratio=ratios[1])
    forced = None if prefixes is None else [[4] * length for length in prefixes]
    found = output_lengths(SOURCE, config, positions, forced)
    assert [lengths.tolist() for lengths in found] == [shortest, longest]
    rows = [[5, 6], [5, 6, 7]]  # of the third, which has not even EOS, there are no ids
    assert lengths_of_outputs(rows, config, positions, forced and forced[:2]) == (shortest[:2], longest[:2])


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 3), st.sampled_from([0.0, 1.0]))
def test_an_ensemble_searches_by_the_mean_probabilities_of_its_models(seed: int, size: int, alpha: float) -> None:
    models = [KnownModel(seed + number) for number in range(size)]

    class Mean(KnownModel):
        def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
            return (
                torch.stack([model.known(name, prefix).double().softmax(0) for model in models]).mean(0).log().float()
            )

    config, limit = SearchConfig(beam_size=4 * 3**3, length_penalty=alpha), torch.tensor([4])
    (found,) = beam_search(Ensemble(models), sources(10), limit, config, 5)
    (expected,) = beam_search(Mean(0), sources(10), limit, config, 5)
    same(found, expected)


def test_mean_log_probabilities_do_not_underflow() -> None:
    logits = [torch.tensor([[0.0, -500.0]]), torch.tensor([[0.0, -400.0]])]
    assert log_mean_probabilities(logits)[0, 1].item() == pytest.approx(-400.6931, abs=1e-3)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.lists(st.lists(st.sampled_from([UNK, 4, 5, 6]), max_size=7)), st.integers(1, 30))
def test_target_scores_equal_the_models_log_probabilities(seed: int, targets: list[list[int]], at_once: int) -> None:
    model, config = KnownModel(seed), SearchConfig(length_normalization="average")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "TARGET_POSITIONS_AT_ONCE", at_once)
        found = score_targets(model, sources(*range(10, 10 + len(targets))), targets, config)
    same(found, [model.hypothesis(name, tuple(tokens), True, config) for name, tokens in enumerate(targets, 10)])
