"""The operations of an update, against torch's counter."""

from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bench.flops import StepFlops
from translator.config import ModelConfig
from translator.core.transformer import Transformer

SMALL = ModelConfig(d_model=32, heads=4, encoder_layers=2, decoder_layers=2, feed_forward=128, max_positions=32)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation": "swiglu", "tied_embeddings": "none"},
        {"decoder_layers": 1, "heads": 2, "feed_forward": 48},
    ],
)
def test_step_flops_agree_with_torchs_flop_counter(changes: dict[str, Any]) -> None:
    """On one sentence per row without padding, with attention as plain products; 1% tolerance for small operations."""
    config = SMALL.model_copy(update=changes)
    model = Transformer(config.settings, 21, 27)
    source = torch.randint(4, 20, (3, 14))
    target_input = torch.randint(4, 20, (3, 11))
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(source, target_input).sum().backward()
    step_flops = StepFlops(config, 27)
    flops = step_flops([14, 14, 14], [11, 11, 11])
    assert flops == pytest.approx(counter.get_total_flops(), rel=0.01)


def test_sentences_attend_only_inside_themselves() -> None:
    """So the operations of two sentences are the sum of those of each, though they may share a row."""
    step_flops = StepFlops(SMALL, 27)
    sum_of_sentences = step_flops([4], [6]) + step_flops([9], [3])
    assert step_flops([4, 9], [6, 3]) == pytest.approx(sum_of_sentences)
