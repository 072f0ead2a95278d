"""Constraints: a beam wide enough for every hypothesis finds the best of those that the constraints allow."""

from typing import NamedTuple

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.known_model import PRODUCIBLE, VOCABULARY, KnownModel, MayFollow, assert_same_hypotheses, sources
from tests.support.search_settings import ALPHAS, NORMALIZATIONS, SEEDS, beam
from translator.config import SearchConfig
from translator.core import EOS, UNK
from translator.core.hypothesis import SearchSettings
from translator.core.search import beam_search
from translator.search.constraints import Constraints
from translator.search.request import SearchRequest

WIDE = 4 * 3**3  # more than a beam of four steps can fill: three tokens that continue, and EOS


class ConstrainedSentence(NamedTuple):
    limit: int
    shortest: int
    prefix: list[int]


SENTENCES = st.lists(
    st.builds(
        ConstrainedSentence,
        limit=st.integers(3, 4),
        shortest=st.integers(0, 5),
        prefix=st.lists(st.sampled_from([UNK, 4, 5, 6]), max_size=3),
    ),
    min_size=1,
    max_size=3,
)


def definition(sentence: ConstrainedSentence, ngram_length: int, no_doubles: bool) -> MayFollow:
    """Return the constraints on an output of `sentence`, one rule after the other."""

    def may_follow(tokens: tuple[int, ...], token: int) -> bool:
        if len(tokens) < len(sentence.prefix):
            return token == sentence.prefix[len(tokens)]
        if token not in PRODUCIBLE:
            return False
        if token == EOS and len(tokens) + 1 < sentence.shortest:
            return False
        if no_doubles and tokens[-1:] == (token,):
            return False
        if 0 < ngram_length <= len(tokens):
            new_ngram = (*tokens, token)[-ngram_length:]
            starts = range(len(tokens) - ngram_length + 1)
            return new_ngram not in {tokens[start : start + ngram_length] for start in starts}
        return True

    return may_follow


def test_a_hypothesis_that_cannot_continue_ends() -> None:
    request = SearchRequest(rows=[[10]], config=SearchConfig(no_repeat_ngram=1))
    constraints = Constraints(request, [9], torch.device("cpu"))
    forbidden = constraints.forbidden(torch.tensor([[4, 5, 6], [4, 5, 5]]), torch.tensor([0, 0]), VOCABULARY)
    assert [(~row).nonzero().flatten().tolist() for row in forbidden] == [[EOS], [6]]


@settings(max_examples=40)
@given(
    seed=SEEDS,
    sentences=SENTENCES,
    ngram_length=st.integers(0, 3),
    no_doubles=st.booleans(),
    search=st.builds(beam, st.just(WIDE), ALPHAS, NORMALIZATIONS),
    count=st.integers(1, WIDE),
)
def test_a_wide_beam_finds_the_best_hypotheses_that_the_constraints_allow(
    seed: int,
    sentences: list[ConstrainedSentence],
    ngram_length: int,
    no_doubles: bool,
    search: SearchSettings,
    count: int,
) -> None:
    model = KnownModel(seed)
    names = range(10, 10 + len(sentences))
    longest = torch.tensor([sentence.limit for sentence in sentences])
    request = SearchRequest(
        rows=[[name] for name in names],
        config=SearchConfig(no_repeat_ngram=ngram_length),
        prefixes=[sentence.prefix for sentence in sentences],
        no_doubles=no_doubles,
    )
    constraints = Constraints(request, [sentence.shortest for sentence in sentences], longest.device)
    results = beam_search(model, sources(*names), longest, search, count, constraints)
    for name, hypotheses, sentence in zip(names, results, sentences, strict=True):
        may_follow = definition(sentence, ngram_length, no_doubles)
        expected = model.all_hypotheses(name, sentence.limit, search, may_follow)
        assert_same_hypotheses(hypotheses, expected[:count])
