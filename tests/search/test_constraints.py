"""Each constraint against its definition, and all together."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.errors import InputError
from translator.search.constraints import Constraint, forbidden_tokens
from translator.search.forced_prefix import ForcedPrefix
from translator.search.minimum_length import MinimumLength
from translator.search.no_repeat_ngram import NoRepeatNgram
from translator.special_tokens import EOS, PAD, SOS, UNK

VOCABULARY = 8
CPU = torch.device("cpu")


def allowed(constraints: list[Constraint], prefix: list[int], sentence: int = 0) -> set[int]:
    """What may follow one prefix."""
    forbidden = forbidden_tokens(constraints, VOCABULARY, torch.tensor([prefix]).long(), torch.tensor([sentence]))
    return set((~forbidden[0]).nonzero().squeeze(1).tolist())


def test_without_constraints_all_but_pad_unknown_and_sos_may_follow() -> None:
    assert allowed([], [4, 4]) == set(range(VOCABULARY)) - {PAD, UNK, SOS}


@pytest.mark.parametrize("length", range(5))
def test_the_end_counts_towards_the_shortest_length(length: int) -> None:
    constraint = MinimumLength(torch.tensor([1, 3]))
    assert EOS in allowed([constraint], [4] * length, 0)
    assert (EOS in allowed([constraint], [4] * length, 1)) == (length + 1 >= 3)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(st.integers(4, 7), min_size=9, max_size=9), min_size=1, max_size=3), st.integers(1, 4))
def test_no_ngram_is_completed_twice(prefixes: list[list[int]], size: int) -> None:
    for length in range(10):
        cut = [prefix[:length] for prefix in prefixes]
        rows = torch.tensor(cut).long().view(len(cut), length)
        forbidden = torch.zeros(len(cut), VOCABULARY, dtype=torch.bool)
        NoRepeatNgram(size).apply(forbidden, rows, torch.zeros(len(cut), dtype=torch.long))
        for prefix, row in zip(cut, forbidden, strict=True):
            ngrams = [tuple(prefix[i : i + size]) for i in range(length - size + 1)]
            for token in range(VOCABULARY):
                completed = tuple([*prefix, token][-size:])
                assert row[token] == (completed in ngrams)


def test_only_the_next_token_of_a_prefix_may_follow() -> None:
    constraint = ForcedPrefix([[4, UNK, 5], [], [6]], CPU)
    assert [allowed([constraint], prefix) for prefix in ([], [4], [4, UNK])] == [{4}, {UNK}, {5}]
    free = set(range(EOS, VOCABULARY))
    assert allowed([constraint], [4, UNK, 5]) == free
    assert allowed([constraint], [], 1) == free
    assert [allowed([constraint], prefix, 2) for prefix in ([], [6])] == [{6}, free]


def test_what_is_forced_goes_before_what_was_forbidden() -> None:
    constraints: list[Constraint] = [NoRepeatNgram(1), ForcedPrefix([[4, 4]], CPU)]
    assert allowed(constraints, [4]) == {4}
    assert 4 not in allowed(constraints, [4, 4])


def test_a_hypothesis_that_cannot_go_on_may_end_before_its_shortest_length() -> None:
    constraints: list[Constraint] = [MinimumLength(torch.tensor([9])), NoRepeatNgram(1)]
    assert allowed(constraints, [4, 5, 6]) == {7}
    assert allowed(constraints, [4, 5, 6, 7]) == {EOS}


@pytest.mark.parametrize("token", [PAD, SOS, EOS, -1])
def test_a_prefix_of_something_else_than_text_is_refused(token: int) -> None:
    with pytest.raises(InputError, match=f"prefix of sentence 2 has token {token}, which is no text"):
        ForcedPrefix([[4], [5, token]], CPU)


def test_a_prefix_beyond_the_vocabulary_is_refused() -> None:
    with pytest.raises(InputError, match=f"token {VOCABULARY}, but the target vocabulary ends with {VOCABULARY - 1}"):
        allowed([ForcedPrefix([[VOCABULARY]], CPU)], [])
