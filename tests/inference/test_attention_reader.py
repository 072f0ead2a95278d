"""Which words belong together by attention, with pieces and weights that are known."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from translator.errors import InputError
from translator.inference.attention_reader import AttentionReader, align_words, word_spans
from translator.search import Hypothesis
from translator.special_tokens import EOS


class Pieces:
    """A subword model of known pieces, whose ids are their places."""

    def __init__(self, *pieces: str) -> None:
        self.pieces = ["<pad>", "<unk>", "<s>", "</s>", *pieces]

    def pieces_of(self, ids: Sequence[int]) -> list[str]:
        return [self.pieces[token] for token in ids]

    def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return ["".join(self.pieces_of(row)).replace("▁", " ").strip() for row in rows]

    def ids(self, *pieces: str) -> list[int]:
        return [self.pieces.index(piece) for piece in pieces]


SOURCE: Any = Pieces("▁the", "▁", "do", "or", ".")
TARGET: Any = Pieces("▁در", "▁را", "ها", ".")


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([], []),
        (["▁the"], [(0, 1)]),
        (["▁the", "▁", "do", "or", "."], [(0, 1), (1, 5)]),
        (["do", "or", "▁the"], [(0, 2), (2, 3)]),
        (["▁", "▁the", "do"], [(0, 3)]),
        (["▁the", "▁"], [(0, 1), (1, 2)]),
    ],
)
def test_where_words_begin(pieces: list[str], expected: list[tuple[int, int]]) -> None:
    assert word_spans(pieces) == expected


def test_each_target_word_goes_where_all_its_pieces_look_most() -> None:
    source, target = SOURCE.ids("▁the", "▁", "do", "or"), TARGET.ids("▁در", "ها", "▁را", ".")
    weights = np.array(
        [
            [0.45, 0.20, 0.20, 0.15, 0.00],  # alone the first piece looks at `the`, its largest piece: `door` has more
            [0.60, 0.10, 0.10, 0.10, 0.10],
            [0.10, 0.00, 0.00, 0.05, 0.85],  # what goes to EOS counts for nothing
            [0.10, 0.00, 0.00, 0.05, 0.85],
            [0.00, 0.00, 0.00, 0.00, 1.00],
        ],
        dtype=np.float32,
    )
    found = align_words(source, target, weights, SOURCE, TARGET)
    assert found.source == ("the", "door")
    assert found.target == ("درها", "را.")
    assert found.pairs == ((0, 0), (0, 1))
    assert align_words(source, target[:1], weights[:1], SOURCE, TARGET).pairs == ((1, 0),)


def test_no_word_no_pair() -> None:
    weights = np.ones((1, 1), dtype=np.float32)
    found = align_words([], TARGET.ids("▁در"), weights, SOURCE, TARGET)
    assert (found.source, found.target, found.pairs) == ((), ("در",), ())


def test_an_engine_that_does_not_tell() -> None:
    class Silent:
        name = "silent"

    engine: Any = Silent()
    subword: Any = None
    with pytest.raises(InputError, match="the engine silent does not tell where its model looks"):
        AttentionReader(engine, subword)


def test_what_is_asked_of_the_engine() -> None:
    class Even:
        name = "even"
        max_positions = 10
        asked: list[Any]

        def find(self, *arguments: Any) -> Any: ...

        def score(self, *arguments: Any) -> Any: ...

        def cross_attention(self, rows: Any, labels: Any) -> Any:
            self.asked = [list(rows), list(labels)]
            return [np.full((len(label), len(row) + 1), 0.5) for row, label in zip(rows, labels, strict=True)]

    pair: Any = type("Pair", (), {"source": SOURCE, "target": TARGET})
    engine: Any = Even()
    row = SOURCE.ids("▁the")
    finished, stopped = Hypothesis((4, 5), -1.0, -1.0, True), Hypothesis((4,), -1.0, -1.0, False)
    first, second = AttentionReader(engine, pair).read(row, [finished, stopped])
    assert engine.asked == [[row, row], [[4, 5, EOS], [4]]]
    assert first.map.source == ["▁the", "</s>"]
    assert first.map.target == ["▁در", "▁را", "</s>"]
    assert first.map.weights.shape == (3, 2)
    assert second.map.target == ["▁در"]
    assert first.alignment.pairs == ((0, 0), (0, 1))
