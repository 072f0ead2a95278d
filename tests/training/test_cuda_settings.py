"""What is set for GPUs, and what a user has set already."""

import os
from collections.abc import Iterator

import pytest
import torch

from translator.training.cuda_settings import set_up_cuda


def enabled(kernel: str) -> bool:
    return bool(getattr(torch.backends.cuda, f"{kernel}_sdp_enabled")())


@pytest.fixture(autouse=True)
def settings_put_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for variable in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        monkeypatch.setenv(variable, "")  # so that it is taken back at the end
        monkeypatch.delenv(variable)
    cuda = torch.backends.cuda
    reduced = cuda.matmul.allow_bf16_reduced_precision_reduction
    cudnn = enabled("cudnn")
    yield
    cuda.matmul.allow_bf16_reduced_precision_reduction = reduced
    cuda.enable_cudnn_sdp(cudnn)


def test_attention_goes_to_kernels_that_take_any_shape() -> None:
    set_up_cuda()
    cuda = torch.backends.cuda
    assert not enabled("cudnn")
    assert enabled("flash") and enabled("mem_efficient") and enabled("math")
    assert not cuda.matmul.allow_bf16_reduced_precision_reduction


def test_segments_of_memory_may_grow() -> None:
    set_up_cuda()
    assert os.environ["PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"


@pytest.mark.parametrize("variable", ["PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"])
def test_the_user_s_own_allocator_settings_stay(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "backend:native")
    set_up_cuda()
    assert [os.environ.get(name) for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")].count(None) == 1
    assert os.environ[variable] == "backend:native"


def test_float32_products_follow_the_one_switch() -> None:
    torch.set_float32_matmul_precision("high")
    set_up_cuda()
    assert torch.get_float32_matmul_precision() == "high"
