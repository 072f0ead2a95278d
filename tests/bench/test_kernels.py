"""The kernels that are timed beside each other compute the same thing."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bench import kernels
from bench.kernel_attention import plain_added, plain_filled
from bench.kernel_layers import NoiseDropout
from bench.kernel_updates import SMOOTHING, ChunkedLoss
from bench.options import Options
from bench.turns import SpeedComparison
from translator.errors import ConfigError


def test_every_way_of_attention_gives_the_same_context() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 2, 5, 4) for _ in range(3))
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])[:, None, None, :]
    bias = torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(plain_filled(query, key, value, mask, 0.0), expected)
    torch.testing.assert_close(plain_added(query, key, value, bias, 0.0), expected)


@pytest.mark.parametrize("rows", [3, 4, 10])
def test_the_chunked_loss_has_torchs_value_and_gradients(rows: int) -> None:
    torch.manual_seed(0)
    states, weight = torch.randn(10, 6, requires_grad=True), torch.randn(12, 6, requires_grad=True)
    labels = torch.randint(0, 12, (10,))
    ours: Tensor = ChunkedLoss.apply(states, weight, labels, rows)  # type: ignore[no-untyped-call]
    found = torch.autograd.grad(3.0 * ours, (states, weight))
    torchs = F.cross_entropy(F.linear(states, weight), labels, label_smoothing=SMOOTHING, reduction="sum")
    torch.testing.assert_close(ours, torchs)
    torch.testing.assert_close(found, torch.autograd.grad(3.0 * torchs, (states, weight)))


@pytest.mark.parametrize("kind", ["float", "bool", "int8", "bytes", "where"])
def test_every_noise_drops_about_a_tenth_and_scales_the_rest(kind: str) -> None:
    torch.manual_seed(0)
    x = torch.ones(100, 101, requires_grad=True)  # not a multiple of the eight bytes of a random word
    y: Tensor = NoiseDropout.apply(x, kind)  # type: ignore[no-untyped-call]
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gradient, y.detach())
    assert sorted(set(y.flatten().tolist())) == pytest.approx([0.0, 1 / 0.9])
    assert 0.08 < float((y == 0).float().mean()) < 0.12


def test_a_group_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kernels.GROUPS, "tiny", lambda: iter([SpeedComparison("a tiny one", {"way": lambda: None})]))
    lines = list(kernels.bench_kernels(Options(only=["tiny"], rounds=1)))
    assert "a tiny one" in lines


def test_an_unknown_group_is_named() -> None:
    with pytest.raises(ConfigError, match=r"no group sound; there are: attention, linear"):
        list(kernels.bench_kernels(Options(only=["sound"])))
