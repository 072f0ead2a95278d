"""Greedy search on a model with known probabilities."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.known_model import KnownModel, ScriptedModel, assert_same_hypotheses, sources
from tests.support.search_settings import ALPHAS, SEEDS, beam
from translator.config import SearchConfig
from translator.search.beam import beam_search
from translator.search.greedy import greedy_search, likeliest_tokens
from translator.special_tokens import EOS

GREEDY = SearchConfig(method="greedy")


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.lists(st.integers(1, 12), min_size=1, max_size=6), ALPHAS)
def test_greedy_search_equals_beam_search_of_width_one(seed: int, limits: list[int], alpha: float) -> None:
    model = KnownModel(seed)
    config = beam(1, alpha)
    longest = torch.tensor(limits)
    source = sources(*range(10, 10 + len(limits)))
    greedy_results = greedy_search(model, source, longest, config)
    beam_results = beam_search(model, source, longest, config)
    for greedy_hypotheses, beam_hypotheses in zip(greedy_results, beam_results, strict=True):
        assert_same_hypotheses(greedy_hypotheses, beam_hypotheses)


def test_the_likeliest_token_is_taken_even_if_a_likelier_sequence_begins_with_another() -> None:
    model = ScriptedModel({(): {4: 0.5, 5: 0.4}, (4,): {5: 0.3, EOS: 0.2}, (4, 5): {EOS: 0.9}, (5,): {EOS: 0.9}})
    ((hypothesis,),) = greedy_search(model, sources(10), torch.tensor([9]), GREEDY)
    assert hypothesis.tokens == (4, 5)


def test_tied_tokens_go_to_the_lowest_id() -> None:
    logits = torch.tensor([[9.0, 9.0, 9.0, 1.0, 2.0, 2.0]])  # PAD, UNK and SOS are never produced
    assert likeliest_tokens(logits, None, torch.tensor([0]), 1).tolist() == [4]


def test_forbidden_tokens_are_never_the_likeliest() -> None:
    logits = torch.tensor([[0.0, 0.0, 0.0, 1.0, 2.0, 3.0]])
    forbidden = torch.tensor([[True, True, True, False, False, True]])
    assert likeliest_tokens(logits, forbidden, torch.tensor([0]), 1).tolist() == [4]
