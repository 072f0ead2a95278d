"""The dry run of the GPU's paths, as far as this build of torch allows it."""

from typing import Any

import pytest
import torch

from scripts import check_cuda_paths
from translator.core.layers import EncoderLayer
from translator.core.optimizer import ModelOptimizer

CHECKS = dict(check_cuda_paths.checks())
CHECKS_TO_RUN = ("float32", "graphs", "ema")  # the script runs all of them


def is_to_run(name: str) -> bool:
    return any(word in name for word in CHECKS_TO_RUN)


@pytest.mark.parametrize("name", [name for name in CHECKS if is_to_run(name)])
def test_each_check_of_a_cuda_path_passes(name: str) -> None:
    assert CHECKS[name]().startswith("fine")


def test_a_graph_break_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    original = EncoderLayer.forward

    def breaking(self: EncoderLayer, *arguments: Any) -> torch.Tensor:
        torch._dynamo.graph_break()
        return original(self, *arguments)

    monkeypatch.setattr(EncoderLayer, "forward", breaking)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="graph_break"):
        check_cuda_paths.check_graphs(())


def test_an_update_that_synchronizes_the_gpu_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    original = ModelOptimizer.update

    def waiting(self: ModelOptimizer, rate: float, norm: torch.Tensor, *arguments: Any) -> None:
        original(self, rate, norm * norm.item(), *arguments)

    monkeypatch.setattr(ModelOptimizer, "update", waiting)
    with pytest.raises(AssertionError, match=r"an update waits for the GPU: \['core/"):
        check_cuda_paths.check_update(())


def test_node_by_node_backward_gives_the_gradients_of_torch() -> None:
    weight = torch.randn(3, 4, requires_grad=True)
    data = torch.randn(5, 4)

    def loss() -> torch.Tensor:
        """Use the weight twice and the hidden layer twice, so that gradients of several paths add up."""
        hidden = torch.relu(data @ weight.t())
        shares = (hidden + weight.sum()).softmax(dim=1)
        products = shares[:, 0] * hidden[:, 1]
        return products.sum()

    (expected,) = torch.autograd.grad(loss(), [weight])
    (gradient,) = check_cuda_paths.grad(loss(), [weight])
    torch.testing.assert_close(gradient, expected)
