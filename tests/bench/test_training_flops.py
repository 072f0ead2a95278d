"""The count of operations, against torch's own count of what a real model multiplies."""

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bench.flops import training_flops
from bench.plain import PlainTransformer
from translator.config import ModelConfig


@pytest.mark.parametrize(("encoder_layers", "decoder_layers"), [(1, 1), (2, 3)])
def test_the_count_is_torchs_count_where_nothing_is_padding(encoder_layers: int, decoder_layers: int) -> None:
    config = ModelConfig(
        d_model=16, heads=2, encoder_layers=encoder_layers, decoder_layers=decoder_layers, feed_forward=24
    )
    model = PlainTransformer(config, 30, 40)
    source, target = torch.randint(4, 30, (3, 7)), torch.randint(4, 40, (3, 5))
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        torch.autograd.backward(model(source, target).sum())
    assert training_flops(config, 40, np.full(3, 7), np.full(3, 5)) == counter.get_total_flops()


def test_padding_is_no_work_and_sentences_add_up() -> None:
    config = ModelConfig(d_model=16, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=24)
    together = training_flops(config, 40, np.array([7, 2]), np.array([5, 3]))
    apart = [training_flops(config, 40, np.array([s]), np.array([t])) for s, t in ((7, 5), (2, 3))]
    assert together == sum(apart)
