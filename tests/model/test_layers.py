"""Dropout with its own random numbers, the feed-forward sublayer, and linear layers in bf16."""

import pytest
import torch
from torch.nn.functional import gelu, relu, silu

from translator.model.dropout import Dropout
from translator.model.inference_copy import RoundedLinear
from translator.model.layers import Activation, FeedForward


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.75])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_drops_at_its_rate_and_scales_the_kept_entries(probability: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    y = Dropout(probability)(torch.ones(1001, 301, dtype=dtype))

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


def test_dropout_passes_the_gradient_of_what_it_scales() -> None:
    x = torch.randn(50, 20, requires_grad=True)
    y = Dropout(0.4)(x)
    torch.autograd.backward(y.sum())
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.where(y == 0, 0.0, y / x).detach())


def test_dropout_follows_the_seed() -> None:
    drop = Dropout(0.4)
    x = torch.randn(50, 20)
    torch.manual_seed(7)
    first = drop(x)
    assert not torch.equal(drop(x), first)
    torch.manual_seed(7)
    assert torch.equal(drop(x), first)


@pytest.mark.parametrize("drop", [Dropout(0.4).eval(), Dropout(0.0)])
def test_dropout_is_off_in_evaluation_and_with_a_probability_of_zero(drop: Dropout) -> None:
    x = torch.randn(50, 20)
    assert drop(x) is x


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_feed_forward_matches_its_formula(activation: Activation) -> None:
    layer = FeedForward(8, 20, activation, dropout=0.5).eval()
    x = torch.randn(2, 3, 8)
    wide = layer.inner(x)
    if activation == "swiglu":
        gate, value = wide.split(20, dim=-1)
        hidden = silu(gate) * value
    else:
        hidden = relu(wide) if activation == "relu" else gelu(wide)
    assert hidden.shape == (2, 3, 20)
    torch.testing.assert_close(layer(x), layer.outer(hidden))


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_positions_do_not_mix_in_feed_forward(activation: Activation) -> None:
    layer = FeedForward(8, 20, activation).eval()
    x = torch.randn(2, 3, 8)
    torch.testing.assert_close(layer(x)[:, 1], layer(x[:, 1]))


def test_feed_forward_drops_in_training() -> None:
    layer = FeedForward(8, 20, "relu", dropout=0.5)
    x = torch.randn(2, 3, 8)
    assert not torch.equal(layer(x), layer(x))


@pytest.mark.parametrize("shape", [(1, 16), (9, 16), (2, 3, 16)])
@pytest.mark.parametrize("bias", [False, True])
def test_rounded_linear_layer_approximates_the_linear_layer(shape: tuple[int, ...], bias: bool) -> None:
    linear = torch.nn.Linear(16, 7, bias=bias)
    x = torch.randn(*shape)
    y = RoundedLinear(linear)(x)
    assert y.dtype == torch.float32
    assert y.shape == (*shape[:-1], 7)
    torch.testing.assert_close(y, linear(x), rtol=0.05, atol=0.05)


def test_a_narrow_rounded_layer_returns_bf16() -> None:
    layer = RoundedLinear(torch.nn.Linear(16, 7), narrow=True)
    assert layer(torch.randn(3, 16)).dtype == torch.bfloat16
