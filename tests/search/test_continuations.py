"""The likeliest next tokens."""

import torch

from translator.search.model import best_continuations
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
    assert set(tokens[0, :4].tolist()) == {3, 4, 5, 6}
    torch.testing.assert_close(scores[0, 0], logits.log_softmax(-1)[0, 3])
    assert (scores[0, 4:] == -torch.inf).all()


def test_half_precision_logits_are_summed_in_float32() -> None:
    logits = torch.randn(2, 5000).bfloat16()
    scores, tokens = best_continuations(logits, 2)
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores, logits.float().log_softmax(-1).gather(1, tokens))
