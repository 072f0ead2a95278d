"""The feed-forward sublayer."""

import pytest
import torch
from torch.nn.functional import gelu, relu, silu

from translator.model.feed_forward import FeedForward


def test_relu_and_gelu() -> None:
    x = torch.randn(2, 3, 8)
    for name, bend in (("relu", relu), ("gelu", gelu)):
        layer = FeedForward(8, 20, name)  # type: ignore[arg-type]
        assert layer.inner.weight.shape == (20, 8)
        torch.testing.assert_close(layer(x), layer.outer(bend(layer.inner(x))))


def test_swiglu_gates_one_half_with_the_other() -> None:
    layer, x = FeedForward(8, 20, "swiglu"), torch.randn(2, 3, 8)
    wide = layer.inner(x)
    assert wide.shape == (2, 3, 40)
    torch.testing.assert_close(layer(x), layer.outer(silu(wide[..., :20]) * wide[..., 20:]))


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_dropout_after_the_activation_in_training_only(activation: str) -> None:
    layer, x = FeedForward(8, 20, activation, dropout=0.5), torch.randn(2, 3, 8)  # type: ignore[arg-type]
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_positions_do_not_mix() -> None:
    layer, x = FeedForward(8, 20, "gelu"), torch.randn(1, 4, 8)
    torch.testing.assert_close(layer(x)[:, 1], layer(x[:, 1]))
