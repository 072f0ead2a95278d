"""A batch: several sentences per row, special tokens, sentence numbers and positions."""

import pickle

import torch

from translator.core import EOS, PAD, SOS
from translator.core.batch import collate_rows, collate_source

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


def test_the_row_length_is_that_of_the_longest_side_of_a_row() -> None:
    assert collate_rows(TWO_ROWS).source.size(1) == 5
    assert collate_rows([[([5], [6, 7, 8])], []]).source.size(1) == 4


def test_sources_of_a_search_have_one_sentence_a_row() -> None:
    assert collate_source([[5, 6], []]).tolist() == [[5, 6, EOS], [EOS, PAD, PAD]]
