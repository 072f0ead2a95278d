"""Beam search against its definition, on a model with known probabilities."""

from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.known_model import PRODUCIBLE, KnownModel, ScriptedModel, assert_same_hypotheses, sources
from tests.support.search_settings import ALPHAS, NORMALIZATIONS, SEEDS, beam
from translator.core import EOS
from translator.core.hypothesis import Hypothesis, SearchSettings, length_penalty
from translator.core.search import beam_search, largest

# --- scores ---


@pytest.mark.parametrize(
    ("normalization", "alpha", "length", "expected"),
    [("gnmt", 1.0, 7, 2.0), ("gnmt", 0.5, 19, 2.0), ("gnmt", 0.0, 100, 1.0), ("average", 0.5, 9, 3.0)],
)
def test_the_length_penalty_of_a_length(
    normalization: Literal["gnmt", "average"], alpha: float, length: int, expected: float
) -> None:
    assert length_penalty(float(length), beam(5, alpha, normalization)) == pytest.approx(expected)


@pytest.mark.parametrize(("finished", "expected"), [(True, -0.25 * 7 / 2.0), (False, -0.25 * 6 / (11 / 6))])
def test_the_eos_of_a_finished_hypothesis_counts_in_its_length(finished: bool, expected: float) -> None:
    hypothesis = Hypothesis.from_tokens([4] * 6, [-0.25] * (6 + finished), finished, beam(5))
    assert hypothesis.normalized_score == pytest.approx(expected)


# --- the largest values ---


@settings(max_examples=100)
@given(
    rows=st.integers(1, 4),
    size=st.integers(1, 60),
    count=st.integers(1, 12),
    levels=st.sampled_from([1, 2, 4, 9, 30]),
    seed=SEEDS,
)
def test_the_largest_values_are_those_of_a_stable_sort(
    rows: int, size: int, count: int, levels: int, seed: int
) -> None:
    # Few different values, so that there are many ties; the lowest is minus infinity.
    values = torch.randint(levels, (rows, size), generator=torch.Generator().manual_seed(seed)).float().log()
    best, indices = largest(values, count)
    expected = values.sort(dim=1, descending=True, stable=True)
    assert torch.equal(best, expected.values[:, :count])
    # Which of the forbidden entries are returned is open.
    is_allowed = best > -torch.inf
    assert torch.equal(indices[is_allowed], expected.indices[:, :count][is_allowed])


# --- beam search ---


def beam_by_definition(model: KnownModel, limit: int, search: SearchSettings) -> tuple[list[Hypothesis], int]:
    """Return all hypotheses of a beam search for the sentence 10, best first, and the number of its steps."""

    def unfinished_hypothesis(tokens: tuple[int, ...]) -> Hypothesis:
        return model.hypothesis(10, tokens, finished=False, settings=search)

    def score(tokens: tuple[int, ...]) -> float:
        return unfinished_hypothesis(tokens).score

    def ranked(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        return sorted(hypotheses, key=lambda hypothesis: -hypothesis.normalized_score)

    width = search.beam_size
    enough_finished = 2 * width if width > 1 else 1
    unfinished: list[tuple[int, ...]] = [()]
    finished: list[Hypothesis] = []
    best_finished = 0.0
    steps = 0
    while steps < limit and (len(finished) < enough_finished or score(unfinished[0]) > best_finished):
        # 1. Extend every hypothesis by every token.
        extensions = [(*tokens, token) for tokens in unfinished for token in PRODUCIBLE]
        extensions.sort(key=score, reverse=True)

        # 2. Those among the first W that end in EOS are finished; the first W others among 2 W go on.
        for tokens in extensions[:width]:
            if tokens[-1] == EOS:
                finished.append(model.hypothesis(10, tokens[:-1], finished=True, settings=search))
        best_finished = max((hypothesis.score for hypothesis in finished), default=0.0)
        cut_off = [tokens for tokens in extensions[:width] if tokens[-1] != EOS]
        continuing = [tokens for tokens in extensions[: 2 * width] if tokens[-1] != EOS]
        unfinished = continuing[:width]
        steps += 1

    # 3. At the length limit, the unfinished hypotheses among the first W follow the finished ones.
    hypotheses = ranked(finished)
    if steps == limit:
        hypotheses += ranked([unfinished_hypothesis(tokens) for tokens in cut_off])
    return hypotheses, steps


@settings(max_examples=60)
@given(SEEDS, st.builds(beam, st.integers(1, 4), ALPHAS, NORMALIZATIONS), st.integers(1, 7), st.data())
def test_beam_search_matches_its_definition(seed: int, search: SearchSettings, limit: int, data: st.DataObject) -> None:
    model = KnownModel(seed)
    expected, expected_steps = beam_by_definition(model, limit, search)
    count = data.draw(st.integers(1, search.beam_size))
    (hypotheses,) = beam_search(model, sources(10), torch.tensor([limit]), search, count)
    assert_same_hypotheses(hypotheses, expected[:count])
    assert model.steps == expected_steps, "a sentence is done as soon as its definition says so"


def test_tied_hypotheses_are_ordered_by_their_lowest_token_ids() -> None:
    rules = {(): {5: 0.3, 6: 0.3, 4: 0.3}, (4,): {EOS: 0.9}, (5,): {EOS: 0.9}, (6,): {EOS: 0.9}}
    for width in (1, 2, 3):
        (hypotheses,) = beam_search(ScriptedModel(rules), sources(10), torch.tensor([9]), beam(width), count=width)
        assert [hypothesis.tokens for hypothesis in hypotheses] == [(4,), (5,), (6,)][:width]


# --- sentences of a batch ---


class EarlyEnd(KnownModel):
    """The sentence 10 ends from its second token on, the others go on for ever."""

    def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
        likely = EOS if name == 10 and len(prefix) >= 2 else 4
        return super().logits(name, prefix).index_fill(0, torch.tensor(likely), 30.0)


@pytest.mark.parametrize(("width", "row_counts"), [(1, [3, 2, 2, 1, 1]), (2, [6, 6, 4, 2, 2])])
def test_a_sentence_with_a_final_result_leaves_the_batch_and_keeps_it(width: int, row_counts: list[int]) -> None:
    model = EarlyEnd(0)
    longest = torch.tensor([4, 9, 6])
    _, hypotheses, _ = beam_search(model, sources(11, 10, 12), longest, beam(width))
    assert hypotheses[0].tokens == (4,)
    assert hypotheses[0].finished
    assert model.state is not None
    assert model.state.row_counts == row_counts
    assert model.steps == 6, "no step follows the end of the last sentence"


@settings(max_examples=40)
@given(
    seed=SEEDS,
    limits=st.lists(st.integers(1, 11), min_size=1, max_size=5),
    search=st.builds(beam, st.integers(1, 4), ALPHAS),
)
def test_sentences_that_stay_after_their_end_find_nothing_more(
    seed: int, limits: list[int], search: SearchSettings
) -> None:
    """As on a GPU, where only some steps read which sentences have ended."""
    arguments = (sources(*range(10, 10 + len(limits))), torch.tensor(limits), search, search.beam_size)
    expected = beam_search(KnownModel(seed), *arguments)
    results = beam_search(KnownModel(seed), *arguments, steps_between_reads=4)
    for hypotheses, expected_hypotheses in zip(results, expected, strict=True):
        assert_same_hypotheses(hypotheses, expected_hypotheses)
