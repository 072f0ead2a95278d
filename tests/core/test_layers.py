"""The feed-forward sublayer, by its formula."""

import pytest
import torch
from torch.nn.functional import gelu, relu, silu

from translator.core.layers import Activation, FeedForward

ACTIVATIONS = pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])


@ACTIVATIONS
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


@ACTIVATIONS
def test_positions_do_not_mix(activation: Activation) -> None:
    layer = FeedForward(8, 20, activation)
    x = torch.randn(2, 3, 8)
    torch.testing.assert_close(layer(x)[:, 1], layer(x[:, 1]))


def test_hidden_values_are_dropped_in_training() -> None:
    layer = FeedForward(8, 20, "relu", dropout=0.5)
    x = torch.randn(2, 3, 8)
    assert not torch.equal(layer(x), layer(x))
