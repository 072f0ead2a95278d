"""Beam search on a model with known probabilities."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.known_model import PRODUCIBLE, KnownModel, ScriptedModel, assert_same_hypotheses, sources
from tests.support.search_settings import ALPHAS, NORMALIZATIONS, SEEDS, beam
from translator.config import SearchConfig
from translator.search.beam import beam_search
from translator.search.hypothesis import Hypothesis
from translator.special_tokens import EOS

WIDE = 4 * 3**3  # more than a beam of four steps can fill: three tokens that continue, and EOS


@settings(deadline=None, max_examples=40)
@given(
    seed=SEEDS,
    limits=st.lists(st.integers(3, 4), min_size=1, max_size=3),
    config=st.builds(beam, st.just(WIDE), ALPHAS, NORMALIZATIONS),
    count=st.integers(1, WIDE),
)
def test_a_wide_beam_equals_exhaustive_search(seed: int, limits: list[int], config: SearchConfig, count: int) -> None:
    model = KnownModel(seed)
    names = range(10, 10 + len(limits))
    results = beam_search(model, sources(*names), torch.tensor(limits), config, count)
    for name, hypotheses, limit in zip(names, results, limits, strict=True):
        expected = model.all_hypotheses(name, limit, config, lambda tokens, token: token in PRODUCIBLE)
        assert_same_hypotheses(hypotheses, expected[:count])


def beam_by_definition(model: KnownModel, limit: int, config: SearchConfig) -> tuple[list[Hypothesis], int]:
    """Return all hypotheses of a beam search for the sentence 10, best first, and the number of its steps."""

    def unfinished_hypothesis(tokens: tuple[int, ...]) -> Hypothesis:
        return model.hypothesis(10, tokens, finished=False, config=config)

    def score(tokens: tuple[int, ...]) -> float:
        return unfinished_hypothesis(tokens).score

    def ranked(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        return sorted(hypotheses, key=lambda hypothesis: -hypothesis.normalized_score)

    width = config.beam_size
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
                finished.append(model.hypothesis(10, tokens[:-1], finished=True, config=config))
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


@settings(deadline=None, max_examples=60)
@given(SEEDS, st.builds(beam, st.integers(1, 4), ALPHAS, NORMALIZATIONS), st.integers(1, 7), st.data())
def test_beam_search_matches_its_definition(seed: int, config: SearchConfig, limit: int, data: st.DataObject) -> None:
    model = KnownModel(seed)
    expected, expected_steps = beam_by_definition(model, limit, config)
    count = data.draw(st.integers(1, config.beam_size))
    (hypotheses,) = beam_search(model, sources(10), torch.tensor([limit]), config, count)
    assert_same_hypotheses(hypotheses, expected[:count])
    assert model.steps == expected_steps, "a sentence is done as soon as its definition says so"


def test_tied_hypotheses_are_ordered_by_their_lowest_token_ids() -> None:
    rules = {(): {5: 0.3, 6: 0.3, 4: 0.3}, (4,): {EOS: 0.9}, (5,): {EOS: 0.9}, (6,): {EOS: 0.9}}
    for width in (2, 3):
        (hypotheses,) = beam_search(ScriptedModel(rules), sources(10), torch.tensor([9]), beam(width), count=width)
        assert [hypothesis.tokens for hypothesis in hypotheses] == [(4,), (5,), (6,)][:width]
