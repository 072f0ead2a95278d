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
    dropped = float((y == 0).float().mean())
    kept = y[y != 0]
    assert kept.min() == kept.max()
    scale = float(kept[0])
    assert scale == pytest.approx(1 / (1 - probability), rel=2**-8 if dtype == torch.bfloat16 else 1e-4)
    deviation = (probability * (1 - probability) / y.numel()) ** 0.5
    assert abs(dropped - (1 - 1 / scale)) < 5 * deviation, "the mean is kept"
    assert abs(dropped - probability) < 0.003 + 5 * deviation


def test_dropout_passes_gradients_follows_the_seed_and_is_off_in_evaluation() -> None:
    drop, x = Dropout(0.4), torch.randn(50, 20, requires_grad=True)
    torch.manual_seed(7)
    y, other = drop(x), drop(x)
    torch.autograd.backward(y.sum())
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.where(y == 0, 0.0, y / x).detach())
    torch.manual_seed(7)
    assert torch.equal(drop(x), y) and not torch.equal(other, y)
    assert drop.eval()(x) is x and Dropout(0.0)(x) is x


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_feed_forward_matches_its_formula_at_each_position(activation: Activation) -> None:
    layer, x = FeedForward(8, 20, activation, dropout=0.5), torch.randn(2, 3, 8)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    wide = layer.inner(x)
    assert wide.shape == (2, 3, 40 if activation == "swiglu" else 20)
    hidden = {"relu": relu(wide), "gelu": gelu(wide), "swiglu": silu(wide[..., :20]) * wide[..., -20:]}[activation]
    torch.testing.assert_close(layer(x), layer.outer(hidden))
    torch.testing.assert_close(layer(x)[:, 1], layer(x[:, 1]))  # positions do not mix


@pytest.mark.parametrize("shape", [(1, 16), (9, 16), (2, 3, 16)])
@pytest.mark.parametrize("bias", [False, True])
def test_rounded_linear_layer_approximates_the_linear_layer(shape: tuple[int, ...], bias: bool) -> None:
    linear, x = torch.nn.Linear(16, 7, bias=bias), torch.randn(*shape)
    y = RoundedLinear(linear)(x)
    assert y.dtype == torch.float32 and y.shape == (*shape[:-1], 7)
    torch.testing.assert_close(y, linear(x), rtol=0.05, atol=0.05)
    assert RoundedLinear(linear, narrow=True)(x).dtype == torch.bfloat16
