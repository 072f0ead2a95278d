"""The dry run of the GPU's paths, as far as this build of torch allows it."""

from typing import Any

import pytest
import torch

from scripts import check_cuda_paths
from translator.training.optimizer import ModelOptimizer

CHECKS = [(name, check) for name, check in check_cuda_paths.checks() if "float32" in name or "graph" in name]


@pytest.mark.parametrize(("name", "check"), CHECKS, ids=[name for name, _ in CHECKS])
def test_each_check_of_a_cuda_path_passes(name: str, check: Any) -> None:
    assert check().startswith("fine"), name


def test_an_update_that_synchronizes_the_gpu_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    original = ModelOptimizer.update

    def waiting(self: ModelOptimizer, rate: float, norm: torch.Tensor, *more: Any) -> None:
        original(self, rate, norm * norm.item(), *more)

    monkeypatch.setattr(ModelOptimizer, "update", waiting)
    with pytest.raises(AssertionError, match=r"an update waits for the GPU: \['training/step"):
        check_cuda_paths.update(())


def test_node_by_node_backward_gives_the_gradients_of_torch() -> None:
    weight, data = torch.randn(3, 4, requires_grad=True), torch.randn(5, 4)

    def loss() -> torch.Tensor:
        hidden = torch.relu(data @ weight.t())
        return ((hidden + weight.sum()).softmax(dim=1)[:, 0] * hidden[:, 1]).sum()

    loss().backward()  # type: ignore[no-untyped-call]
    expected, weight.grad = weight.grad, None
    check_cuda_paths.backward(loss())
    torch.testing.assert_close(weight.grad, expected)
