"""Greedy and beam search on a model with known probabilities."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from known_model import PRODUCED, KnownModel, MayFollow, ScriptedModel, same, sources
from translator.search.algorithms import beam_search, follow_paths, likeliest

from translator.config import SearchConfig
from translator.search.constraints import Constraints
from translator.special_tokens import EOS, UNK

EVERYTHING = 4 * 3**3  # More than a beam of four steps can fill: three tokens that continue, and EOS


def beam(width: int, alpha: float = 1.0, normalization: str = "gnmt") -> SearchConfig:
    settings = {"beam_size": width, "length_penalty": alpha, "length_normalization": normalization}
    return SearchConfig.model_validate(settings)


SEEDS, ALPHAS = st.integers(0, 10**6), st.sampled_from([0.0, 0.6, 1.0, 2.5])
KINDS = st.sampled_from(["gnmt", "average"])


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.lists(st.integers(1, 12), min_size=1, max_size=6), ALPHAS)
def test_greedy_search_equals_beam_search_of_size_one(seed: int, lengths: list[int], alpha: float) -> None:
    model, config, longest = KnownModel(seed), beam(1, alpha), torch.tensor(lengths)
    source = sources(*range(10, 10 + len(lengths)))
    paths = follow_paths(model, source, longest, likeliest, config)
    for path, of_beam in zip(paths, beam_search(model, source, longest, config), strict=True):
        same(path, of_beam)


def definition(shortest: int, size: int, prefix: list[int]) -> MayFollow:
    def may_follow(tokens: tuple[int, ...], token: int) -> bool:
        if len(tokens) < len(prefix):
            return token == prefix[len(tokens)]
        repeats = (*tokens, token)[-size:] in {tokens[i : i + size] for i in range(len(tokens) - size + 1)}
        return (
            token in PRODUCED
            and (token != EOS or len(tokens) + 1 >= shortest)
            and not (size > 0 and repeats and len(tokens) >= size)
        )

    return may_follow


PREFIXES = st.lists(st.sampled_from([UNK, 4, 5, 6]), max_size=3)
SENTENCES = st.lists(st.tuples(st.integers(3, 4), st.integers(0, 5), PREFIXES), min_size=1, max_size=3)
WIDE = st.builds(beam, st.just(EVERYTHING), ALPHAS, KINDS)


@settings(deadline=None, max_examples=60)
@given(SEEDS, SENTENCES, st.integers(0, 3), st.booleans(), WIDE, st.integers(1, EVERYTHING))
def test_a_wide_beam_equals_exhaustive_search_with_and_without_constraints(
    seed: int, sentences: list[tuple[int, int, list[int]]], size: int, free: bool, config: SearchConfig, count: int
) -> None:
    if free:
        sentences, size = [(limit, 0, []) for limit, _, _ in sentences], 0
    limits, shortest, prefixes = zip(*sentences, strict=True)
    constraints = None if free else Constraints(torch.tensor(shortest), size, prefixes)
    model, source = KnownModel(seed), sources(*range(10, 10 + len(sentences)))
    found = beam_search(model, source, torch.tensor(limits), config, count, constraints)
    for name, (hypotheses, (limit, least, prefix)) in enumerate(zip(found, sentences, strict=True), 10):
        same(hypotheses, model.all_hypotheses(name, limit, config, definition(least, size, prefix))[:count])


@settings(deadline=None, max_examples=60)
@given(SEEDS, st.builds(beam, st.integers(1, 4), ALPHAS, KINDS), st.integers(1, 7), st.data())
def test_beam_search_matches_its_definition_and_stops_at_the_same_step(
    seed: int, config: SearchConfig, limit: int, data: st.DataObject
) -> None:
    model, width = KnownModel(seed), config.beam_size
    live: list[tuple[int, ...]] = [()]
    finished: list[tuple[int, ...]] = []
    steps = 0
    sums: list[float] = []
    while steps < limit and (
        len(finished) < (2 * width if width > 1 else 1)
        or model.hypothesis(10, live[0], False, config).score > max(sums, default=0.0)
    ):
        grown = [(*tokens, token) for tokens in live for token in PRODUCED]
        grown.sort(key=lambda tokens: -model.hypothesis(10, tokens, False, config).score)
        finished += [tokens[:-1] for tokens in grown[:width] if tokens[-1] == EOS]
        sums = [model.hypothesis(10, tokens, True, config).score for tokens in finished]
        stopped = [tokens for tokens in grown[:width] if tokens[-1] != EOS]
        live = [tokens for tokens in grown[: 2 * width] if tokens[-1] != EOS][:width]
        steps += 1
    expected = [model.hypothesis(10, tokens, True, config) for tokens in finished]
    expected.sort(key=lambda one: -one.normalized_score)
    if steps == limit:
        expected += sorted(
            (model.hypothesis(10, tokens, False, config) for tokens in stopped), key=lambda one: -one.normalized_score
        )
    count = data.draw(st.integers(1, width))
    (found,) = beam_search(model, sources(10), torch.tensor([limit]), config, count)
    same(found, expected[:count])
    assert model.steps == steps


@pytest.mark.parametrize(("width", "sizes"), [(1, [2, 1]), (2, [6, 6, 4, 2, 2])])
def test_sentences_with_a_final_result_leave_the_batch(width: int, sizes: list[int]) -> None:
    class Mixed(KnownModel):
        """Sentence 10 ends from the second step on, the others by their limits."""

        def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
            wanted = EOS if name == 10 and len(prefix) >= 2 else 4
            return super().logits(name, prefix).index_fill(0, torch.tensor(wanted), 30.0)

    model, source, longest = Mixed(0), sources(11, 10, 12), torch.tensor([4, 9, 6])
    if width == 1:
        found = follow_paths(model, source, longest, likeliest, beam(1))
    else:
        found = beam_search(model, source, longest, beam(width))
    assert [(one.tokens, one.finished) for one, *_ in found][1] == ((4,), True)
    assert model.state is not None
    assert (model.state.sizes, model.steps) == (sizes, 6)


def test_tied_hypotheses_are_ordered_by_lowest_token_ids() -> None:
    model = ScriptedModel({(): {5: 0.3, 6: 0.3, 4: 0.3}, **{(token,): {EOS: 0.9} for token in (4, 5, 6)}})
    for width in (2, 3):
        (found,) = beam_search(model, sources(10), torch.tensor([9]), beam(width), count=width)
        assert [hypothesis.tokens for hypothesis in found] == [(4,), (5,), (6,)][:width]
