"""Masks of rows of several sentences: True = may attend."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from translator.masks import MaskGenerator, one_sentence_a_row
from translator.special_tokens import PAD

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


@settings(deadline=None, max_examples=50)
@given(source=sentence_numbers())
def test_the_encoder_attends_within_a_sentence(source: Tensor) -> None:
    mask = MaskGenerator().encoder(source)
    for row in range(2):
        for query in range(LENGTH):
            for key in range(LENGTH):
                same_sentence = bool(source[row, query] == source[row, key])
                assert mask[row, 0, query, key].item() == same_sentence


@settings(deadline=None, max_examples=50)
@given(target=sentence_numbers())
def test_the_decoder_attends_within_a_sentence_and_not_to_later_tokens(target: Tensor) -> None:
    mask = MaskGenerator().decoder(target)
    for row in range(2):
        for query in range(LENGTH):
            for key in range(LENGTH):
                same_sentence = bool(target[row, query] == target[row, key])
                assert mask[row, 0, query, key].item() == (same_sentence and key <= query)


@settings(deadline=None, max_examples=50)
@given(source=sentence_numbers(), target=sentence_numbers())
def test_a_target_sentence_attends_to_the_source_sentence_of_its_number(source: Tensor, target: Tensor) -> None:
    mask = MaskGenerator().cross(target, source)
    for row in range(2):
        for query in range(LENGTH):
            if target[row, query] == 0:
                continue
            for key in range(LENGTH):
                same_sentence = bool(target[row, query] == source[row, key])
                assert mask[row, 0, query, key].item() == same_sentence


@settings(deadline=None, max_examples=50)
@given(source=sentence_numbers(), target=sentence_numbers())
def test_padding_always_attends_to_something(source: Tensor, target: Tensor) -> None:
    masks = MaskGenerator()(source, target)
    assert masks.encoder[:, 0][source == 0].any(dim=-1).all()
    assert masks.decoder[:, 0][target == 0].any(dim=-1).all()
    assert masks.cross[:, 0][target == 0].any(dim=-1).all()


def test_one_sentence_a_row_has_the_number_one_and_padding_zero() -> None:
    assert one_sentence_a_row(torch.tensor([[5, 6, PAD]])).tolist() == [[1, 1, 0]]
