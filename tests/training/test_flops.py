"""Operations of a training step, against torch's own counter."""

from typing import Any

import pytest
import torch
from small_model import SMALL
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from translator.model import Transformer
from translator.training.flops import StepFlops


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation": "swiglu", "tied_embeddings": "none"},
        {"encoder_layers": 3, "decoder_layers": 1, "heads": 2, "feed_forward": 48},
    ],
)
def test_it_agrees_with_counting_each_product(changes: dict[str, Any]) -> None:
    """On a batch without padding, attention computed as plain products; one percent is left for small things."""
    config = SMALL.model_copy(update=changes)
    model = Transformer(config, 21, 27)
    rows, source_length, target_length = 3, 14, 11
    source = torch.randint(4, 20, (rows, source_length))
    target_input = torch.randint(4, 20, (rows, target_length))
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(source, target_input).sum().backward()
    ours = StepFlops(config, 27)([source_length] * rows, [target_length] * rows)
    assert ours == pytest.approx(counter.get_total_flops(), rel=0.01)


def test_each_length_counts() -> None:
    flops = StepFlops(SMALL, 27)
    one, other = flops([5], [7]), flops([9], [3])
    assert flops([5, 9], [7, 3]) == one + other
    assert flops([], []) == 0
