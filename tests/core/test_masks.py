"""Masks of rows of several sentences: True = may attend."""

import itertools

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from translator.core import PAD
from translator.core.masks import MaskGenerator, one_sentence_a_row

LENGTH = 7


@st.composite
def sentence_numbers(draw: st.DrawFn) -> Tensor:
    """Sentence numbers (2, 7): sentences in order, then zeros."""
    rows = []
    for _ in range(2):
        lengths = draw(st.lists(st.integers(1, 3), max_size=3))
        numbers = []
        for number, length in enumerate(lengths, 1):
            numbers += [number] * length
        padded_numbers = numbers + [0] * LENGTH
        rows.append(padded_numbers[:LENGTH])
    return torch.tensor(rows)


@settings(max_examples=50)
@given(source=sentence_numbers(), target=sentence_numbers())
def test_a_token_attends_within_its_sentence_a_target_token_to_no_later_one_and_padding_to_something(
    source: Tensor, target: Tensor
) -> None:
    masks = MaskGenerator()(source, target)
    for row, query, key in itertools.product(range(2), range(LENGTH), range(LENGTH)):
        in_source = bool(source[row, query] == source[row, key])
        assert masks.encoder[row, 0, query, key].item() == in_source
        in_target = bool(target[row, query] == target[row, key])
        assert masks.decoder[row, 0, query, key].item() == (in_target and key <= query)
        if target[row, query] != PAD:
            of_one_pair = bool(target[row, query] == source[row, key])
            assert masks.cross[row, 0, query, key].item() == of_one_pair
    assert masks.cross[:, 0][target == PAD].any(dim=-1).all()


def test_one_sentence_a_row_has_the_number_one_and_padding_zero() -> None:
    assert one_sentence_a_row(torch.tensor([[5, 6, PAD]])).tolist() == [[1, 1, 0]]
