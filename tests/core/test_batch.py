"""A batch: several sentences per row, special tokens, sentence numbers and positions."""

import itertools
import pickle

import torch
from hypothesis import given
from hypothesis import strategies as st

from translator.core import EOS, PAD, SOS
from translator.core.batch import collate_rows, collate_source

IDS = st.lists(st.integers(4, 30), max_size=6)
ROWS = st.lists(st.lists(st.tuples(IDS, IDS), max_size=4), min_size=1, max_size=5)
Rows = list[list[tuple[list[int], list[int]]]]

TWO_ROWS: Rows = [[([5, 6], [7]), ([8], [9, 10])], [([], [])]]
"""Two pairs in the first row; a pair of empty sentences in the second."""
BATCH = collate_rows(TWO_ROWS, row_length=6)


def test_a_sentence_has_eos_behind_its_source_and_its_labels_and_sos_before_its_input() -> None:
    assert BATCH.source.tolist() == [[5, 6, EOS, 8, EOS, PAD], [EOS, PAD, PAD, PAD, PAD, PAD]]
    assert BATCH.target_input.tolist() == [[SOS, 7, SOS, 9, 10, PAD], [SOS, PAD, PAD, PAD, PAD, PAD]]
    assert BATCH.labels.tolist() == [[7, EOS, 9, 10, EOS, PAD], [EOS, PAD, PAD, PAD, PAD, PAD]]


def test_sentences_are_numbered_from_one_and_their_positions_from_zero() -> None:
    assert BATCH.source_sentence.tolist() == [[1, 1, 1, 2, 2, 0], [1, 0, 0, 0, 0, 0]]
    assert BATCH.target_sentence.tolist() == [[1, 1, 2, 2, 2, 0], [1, 0, 0, 0, 0, 0]]
    assert BATCH.source_position.tolist() == [[0, 1, 2, 0, 1, 0], [0, 0, 0, 0, 0, 0]]
    assert BATCH.target_position.tolist() == [[0, 1, 0, 1, 2, 0], [0, 0, 0, 0, 0, 0]]


def test_only_real_tokens_are_counted_eos_included() -> None:
    assert BATCH.target_tokens == 6
    assert BATCH.source_lengths.tolist() == [3, 2, 1]
    assert BATCH.target_lengths.tolist() == [2, 3, 1]


def test_a_batch_that_another_process_sends_is_the_same() -> None:
    copied = pickle.loads(pickle.dumps(BATCH))  # noqa: S301
    assert torch.equal(copied.fields, BATCH.fields)
    assert copied.fields.dtype == BATCH.fields.dtype
    assert copied.pair_counts.tolist() == BATCH.pair_counts.tolist()


def test_a_batch_taken_twice_has_its_rows_and_their_numbers_twice() -> None:
    twice = BATCH.twice()
    expected = collate_rows(TWO_ROWS + TWO_ROWS, row_length=6)
    assert torch.equal(twice.fields, expected.fields)
    assert twice.pairs.tolist() == [0, 1, 2, 0, 1, 2]
    for name in ("pair_counts", "source_lengths", "target_lengths"):
        assert getattr(twice, name).tolist() == getattr(expected, name).tolist()


def sentences_in(tokens: torch.Tensor, numbers: torch.Tensor) -> list[list[int]]:
    """The ids of each sentence of a batch, in order."""
    sentences = []
    for row_tokens, row_numbers in zip(tokens, numbers, strict=True):
        for number in range(1, int(row_numbers.max()) + 1):
            sentences.append(row_tokens[row_numbers == number].tolist())
    return sentences


@given(rows=ROWS)
def test_every_sentence_can_be_read_back(rows: Rows) -> None:
    batch = collate_rows(rows, row_length=30)
    pairs = list(itertools.chain.from_iterable(rows))
    assert sentences_in(batch.source, batch.source_sentence) == [[*source, EOS] for source, _ in pairs]
    assert sentences_in(batch.target_input, batch.target_sentence) == [[SOS, *target] for _, target in pairs]
    assert sentences_in(batch.labels, batch.target_sentence) == [[*target, EOS] for _, target in pairs]


def test_the_row_length_is_that_of_the_longest_side_of_a_row() -> None:
    assert collate_rows(TWO_ROWS).source.size(1) == 5
    assert collate_rows([[([5], [6, 7, 8])], []]).source.size(1) == 4


def test_sources_of_a_search_have_one_sentence_a_row() -> None:
    assert collate_source([[5, 6], []]).tolist() == [[5, 6, EOS], [EOS, PAD, PAD]]
