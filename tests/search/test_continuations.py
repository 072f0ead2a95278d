"""The likeliest next tokens."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.search.continuations import best_continuations, largest
from translator.special_tokens import PAD, SOS, UNK


def test_best_first_with_log_probabilities_of_the_whole_distribution() -> None:
    logits = torch.randn(3, 9)
    before = logits.clone()
    scores, tokens = best_continuations(logits, 4)
    log_probabilities = logits.log_softmax(-1)
    torch.testing.assert_close(scores, log_probabilities.gather(1, tokens))
    assert (scores[:, :-1] >= scores[:, 1:]).all()
    assert torch.equal(logits, before)
    for count in (1, 4):
        assert torch.equal(best_continuations(logits, count)[1][:, 0], tokens[:, 0])


def test_pad_unknown_and_sos_are_never_best_but_count_in_the_total() -> None:
    logits = torch.zeros(1, 7)
    logits[0, [PAD, UNK, SOS]] = 5.0
    scores, tokens = best_continuations(logits, 7)
    assert tokens.tolist() == [[3, 4, 5, 6]]
    torch.testing.assert_close(scores[0, 0], logits.log_softmax(-1)[0, 3])


def test_forbidden_tokens_are_told_in_place_of_those() -> None:
    logits = torch.randn(2, 7)
    forbidden = torch.tensor([[True] * 7, [False] * 7])
    forbidden[0, UNK] = False
    scores, tokens = best_continuations(logits, 2, forbidden)
    assert tokens[0, 0] == UNK
    torch.testing.assert_close(scores[0], torch.tensor([logits.log_softmax(-1)[0, UNK].item(), -torch.inf]))
    torch.testing.assert_close(scores[1], logits.log_softmax(-1)[1].sort(descending=True).values[:2])


def test_half_precision_logits_are_summed_in_float32() -> None:
    logits = torch.randn(2, 5000).bfloat16()
    scores, tokens = best_continuations(logits, 2)
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores, logits.float().log_softmax(-1).gather(1, tokens))


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 4), st.integers(1, 60), st.integers(1, 12), st.integers(1, 9), st.integers(0, 10**6))
def test_of_equal_ones_the_lowest_are_taken(rows: int, size: int, count: int, levels: int, seed: int) -> None:
    values = torch.randint(levels, (rows, size), generator=torch.Generator().manual_seed(seed)).float().log()
    best, places = largest(values, count)
    ordered = values.sort(dim=1, descending=True, stable=True)
    assert torch.equal(best, ordered.values[:, :count])
    allowed = best > -torch.inf
    assert torch.equal(places[allowed], ordered.indices[:, :count][allowed])
    assert (places.sort(dim=1).values.diff(dim=1) > 0).all()


def test_minus_infinity_is_not_a_tie() -> None:
    values = torch.tensor([[-torch.inf, 3.0, -torch.inf, -torch.inf]])
    best, places = largest(values, 2)
    assert best.tolist() == [[3.0, -torch.inf]]
    assert places[0, 0] == 1
