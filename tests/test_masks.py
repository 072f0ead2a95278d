"""Masks: True = may attend."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.masks import MaskGenerator
from translator.special_tokens import PAD


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=4))
def test_decoder_mask_hides_later_tokens_and_padding(rows: list[list[int]]) -> None:
    mask = MaskGenerator().decoder(torch.tensor(rows))
    for b, row in enumerate(rows):
        for t in range(6):
            for s in range(6):
                assert mask[b, 0, t, s].item() == (s <= t and row[s] != PAD)
