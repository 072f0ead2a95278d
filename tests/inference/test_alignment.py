"""Word alignment by attention, checked with given pieces and weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from translator.inference.alignment import Alignment, AttentionMap, align_words, word_weights


class Pieces:
    """A subword model with given pieces; the id of a piece is its index."""

    def __init__(self, *pieces: str) -> None:
        self.pieces = pieces

    def pieces_of(self, ids: Sequence[int]) -> list[str]:
        return [self.pieces[token] for token in ids]

    def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return ["".join(self.pieces_of(row)).replace("▁", " ").strip() for row in rows]


class Pair:
    """The subword models of both sides."""

    source = Pieces("▁the", "▁", "do", "or")
    target = Pieces("▁در", "ها", "▁را", ".")


PAIR: Any = Pair()


WEIGHTS = np.array(
    [
        [0.45, 0.20, 0.20, 0.15, 0.00],  # `the` has the largest single weight, `door` the largest sum
        [0.10, 0.00, 0.00, 0.05, 0.85],  # attention to EOS is ignored
        [0.15, 0.00, 0.00, 0.05, 0.80],
        [0.10, 0.00, 0.00, 0.05, 0.85],
        [0.00, 0.00, 0.00, 0.00, 1.00],
    ],
    dtype=np.float32,
)


def test_each_target_word_aligns_to_the_source_word_with_the_largest_sum_over_their_pieces() -> None:
    expected = Alignment(source=("the", "door"), target=("درها", "را."), pairs=((1, 0), (0, 1)))
    assert align_words(PAIR, range(4), range(4), WEIGHTS) == expected


def test_a_source_without_words_aligns_to_nothing() -> None:
    assert align_words(PAIR, [], [0], WEIGHTS[:1]) == Alignment(source=(), target=("در",), pairs=())


def test_word_weights_sum_source_pieces_and_average_target_pieces() -> None:
    rows = [
        [0.5, 0.25, 0.125, 0.125, 0],
        [0.01, 0, 0, 0, 0.99],
        [0, 0, 0.25, 0.25, 0.5],
        [0, 0, 0, 0, 1],
    ]
    finished = AttentionMap(
        source=["▁a", "b", "▁", "c", "</s>"],
        target=["▁x", "▁y", "z", "</s>"],
        weights=np.array(rows, np.float32),
    )
    stopped = AttentionMap(source=["▁d", "</s>"], target=["▁w"], weights=np.array([[0.75, 0.25]], np.float32))
    without_words = AttentionMap(source=["</s>"], target=["</s>"], weights=np.ones((1, 1), np.float32))
    expected = [[[0, 0.75], [1, 0.25]], [[1, 0.25]], [[2, 0.75]]]
    assert word_weights([finished, without_words, stopped]) == expected
