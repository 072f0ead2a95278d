"""Dropout with a fast random generator equals that of torch in its mean and its share."""

import pytest
import torch
from torch import nn

from tests.support.small_model import small_model
from translator.speed.dropout import FastDropout, use_fast_dropout


@pytest.mark.parametrize(
    ("probability", "dtype"), [(0.1, torch.float32), (0.1, torch.bfloat16), (0.75, torch.bfloat16)]
)
def test_entries_are_dropped_at_the_rate_and_the_others_grow_so_that_the_mean_stays(
    probability: float, dtype: torch.dtype
) -> None:
    torch.manual_seed(1)
    y = FastDropout(probability)(torch.ones(1001, 301, dtype=dtype))

    # All entries that stay have the same scale.
    scaled_entries = y[y != 0]
    assert scaled_entries.min() == scaled_entries.max()
    scale = float(scaled_entries[0])
    rounding = 2**-8 if dtype == torch.bfloat16 else 1e-4
    assert scale == pytest.approx(1 / (1 - probability), rel=rounding)

    # The rate is near the probability, and nearer to the one that preserves the mean.
    dropped_share = float((y == 0).float().mean())
    mean_preserving_share = 1 - 1 / scale
    deviation = (probability * (1 - probability) / y.numel()) ** 0.5
    assert abs(dropped_share - probability) < 0.003 + 5 * deviation
    assert abs(dropped_share - mean_preserving_share) < 5 * deviation


def test_every_dropout_of_a_model_is_replaced_by_one_of_the_same_probability() -> None:
    model = small_model(dropout=0.2, feed_forward_dropout=0.3)
    expected = {name: part.p for name, part in model.named_modules() if isinstance(part, nn.Dropout)}
    names = set(model.state_dict())
    use_fast_dropout(model)
    fast = {name: part.probability for name, part in model.named_modules() if isinstance(part, FastDropout)}
    assert fast == expected
    assert set(fast.values()) == {0.2, 0.3}
    assert set(model.state_dict()) == names
