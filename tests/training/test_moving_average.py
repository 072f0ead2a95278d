"""The moving average against its formula."""

import torch

from tests.support.small_model import small_model
from translator.training.moving_average import MovingAverage


@torch.no_grad()
def test_the_moving_average_follows_its_formula() -> None:
    model = small_model()
    average = MovingAverage(model, 0.9)
    expected = model.head_weight.clone()
    for number in range(1, 101):
        model.head_weight.add_(torch.randn(expected.shape))
        average.update(model)
        decay = min(0.9, number / (9 + number))
        expected.lerp_(model.head_weight, 1 - decay)
        torch.testing.assert_close(average.model.head_weight.data, expected, rtol=1e-4, atol=1e-5)
