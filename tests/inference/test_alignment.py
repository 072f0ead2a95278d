"""Word alignment by attention, checked with given pieces and weights."""

import numpy as np

from translator.inference.alignment import AttentionMap, align_words

FINISHED = AttentionMap(
    source=["▁the", "▁", "do", "<0xC3>", "<0xA9>", "</s>"],
    target=["▁در", "ها", "▁را", ".", "</s>"],
    weights=np.array(
        [
            [0.45, 0.20, 0.20, 0.10, 0.05, 0.00],  # `the` has the largest single weight, `doé` the largest sum
            [0.01, 0.00, 0.00, 0.00, 0.01, 0.98],  # attention to EOS is ignored
            [0.015, 0.00, 0.00, 0.005, 0.00, 0.98],
            [0.001, 0.00, 0.00, 0.005, 0.00, 0.994],
            [0.00, 0.00, 0.00, 0.00, 0.00, 1.00],
        ],
        dtype=np.float32,
    ),
)
CUT_OFF = AttentionMap(source=["▁d", "</s>"], target=["▁w"], weights=np.array([[0.75, 0.25]], np.float32))
WITHOUT_WORDS = AttentionMap(source=["</s>"], target=["▁x", "</s>"], weights=np.ones((2, 1), np.float32))


def test_words_are_aligned_across_segments_by_the_attention_of_their_pieces() -> None:
    alignment = align_words([FINISHED, WITHOUT_WORDS, CUT_OFF])
    assert alignment.source == ["the", "doé", "d"]
    assert alignment.target == ["درها", "را.", "x", "w"]
    assert alignment.pairs == [(1, 0), (0, 1), (2, 3)], "a side without words gives no pairs"
    # Of source pieces the sum, of target pieces the mean; a share below 0.01 is left out.
    assert alignment.shares == [[(0, 0.23), (1, 0.28)], [], [], [(2, 0.75)]]
