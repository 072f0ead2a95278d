"""Dropout with noise of our own."""

import pytest
import torch

from translator.model.dropout import Dropout


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.75])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_entries_are_dropped_at_the_rate_and_the_others_scaled(probability: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    y = Dropout(probability)(torch.ones(1001, 301, dtype=dtype))
    dropped = float((y == 0).float().mean())
    kept = y[y != 0]
    assert kept.min() == kept.max()
    scale = float(kept[0])
    assert scale == pytest.approx(1 / (1 - probability), rel=2**-8 if dtype == torch.bfloat16 else 1e-4)
    deviation = (probability * (1 - probability) / y.numel()) ** 0.5
    assert abs(dropped - (1 - 1 / scale)) < 5 * deviation, "the mean is kept"
    assert abs(dropped - probability) < 0.003 + 5 * deviation


def test_entries_are_dropped_independently() -> None:
    torch.manual_seed(1)
    dropped = (Dropout(0.5)(torch.ones(4000, 64)) == 0).float()
    centred = dropped - dropped.mean()
    for distance in (1, 2, 3, 4, 8, 64):  # four entries share a random word
        flat = centred.flatten()
        correlation = (flat[:-distance] * flat[distance:]).mean() / 0.25
        assert abs(float(correlation)) < 0.012, distance


def test_the_gradient_passes_where_the_entry_did() -> None:
    x = torch.randn(50, 20, requires_grad=True)
    y = Dropout(0.4)(x)
    torch.autograd.backward(y.sum())
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.where(y == 0, 0.0, y / x).detach())


def test_it_is_the_identity_where_nothing_is_to_be_dropped() -> None:
    x = torch.randn(3, 4)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_the_noise_comes_from_torch_and_differs_each_time() -> None:
    drop, x = Dropout(0.5), torch.ones(9, 9)
    torch.manual_seed(7)
    first, second = drop(x), drop(x)
    torch.manual_seed(7)
    torch.testing.assert_close(drop(x), first, rtol=0, atol=0)
    assert not torch.equal(first, second)
