"""Precision, kernels and processes are chosen by rules from the hardware, logged, and overridden by the recipe."""

import os
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from translator.config import Config, ModelConfig, TrainingConfig
from translator.errors import ConfigError
from translator.training import precision as room
from translator.training.precision import Choices, choose, choose_processes, seed_update, set_up_cuda

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def auto(device: torch.device, width: int = 1024, **settings: Any) -> Choices:
    model, training = ModelConfig(d_model=width), TrainingConfig(**settings)
    return choose(device, Config.model_construct(model=model, training=training))


@pytest.mark.parametrize(("there", "pays", "expected"), [(1, 1, "bf16"), (1, 0, "float32"), (0, 0, "float32")])
def test_bf16_is_chosen_where_it_is_available_and_faster(
    monkeypatch: pytest.MonkeyPatch, there: int, pays: int, expected: str
) -> None:
    monkeypatch.setattr(room, "has_bf16", lambda device: bool(there))
    monkeypatch.setattr(room, "bf16_pays", lambda device: bool(pays))
    chosen = auto(CPU)
    assert chosen.precision == expected
    assert chosen.reasons["training.precision"].startswith(expected)
    assert auto(CPU, precision="float32").precision == "float32"


@pytest.mark.parametrize(("pays", "expected"), [(True, "medium"), (False, "highest")])
def test_float32_products_are_rounded_if_faster(monkeypatch: pytest.MonkeyPatch, pays: bool, expected: str) -> None:
    monkeypatch.setattr("translator.model.device.bf16_pays", lambda device: pays)
    chosen = auto(CPU)
    assert chosen.matmul_precision == expected
    assert chosen.reasons["training.matmul_precision"].startswith(f"{expected} (float32 products")
    assert auto(CPU, matmul_precision="high").matmul_precision == "high"


def test_bf16_is_refused_on_a_gpu_that_lacks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "has_bf16", lambda device: False)
    with pytest.raises(ConfigError, match="this GPU lacks it; use fp16, float32 or auto"):
        auto(GPU, precision="bf16")
    assert auto(CPU, precision="bf16").precision == "bf16"


@pytest.mark.parametrize(("capability", "expected"), [((6, 1), "float32"), ((7, 5), "fp16")])
def test_a_gpu_without_bf16_uses_fp16_if_it_has_fp16_matrix_units(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], expected: str
) -> None:
    monkeypatch.setattr(room, "has_bf16", lambda device: False)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert auto(GPU).precision == expected
    assert auto(CPU).precision == "float32"
    apple = auto(torch.device("mps"))
    assert (apple.precision, apple.compile, apple.packed, apple.attention) == ("float32", False, False, "fused")


def test_a_cpu_run_packs_batches_and_a_long_gpu_run_compiles_a_wide_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "has_bf16", lambda device: False)
    monkeypatch.setattr(room, "fp16_pays", lambda device: False)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    on_cpu, on_gpu = auto(CPU), auto(GPU, max_steps=5000)
    assert not auto(GPU, max_steps=4999).compile, "a short run is over before it pays"
    assert not auto(GPU, width=1016).compile, "a narrow model is slower"
    assert auto(GPU, width=512, compile="always").compile
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert "needs a C compiler" in auto(GPU).reasons["training.compile"]
    assert not auto(GPU).compile
    assert (on_cpu.packed, on_cpu.attention, on_cpu.compile) == (True, "plain", False)
    assert (on_gpu.packed, on_gpu.attention, on_gpu.compile) == (False, "fused", True)
    with pytest.raises(ConfigError, match="on a CPU a compiled step is slower; use auto or never"):
        auto(CPU, compile="always")
    assert len(on_cpu.reasons) == 5


def test_processes_default_to_one_per_gpu(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_processes(tiny())[0] == 1
    assert choose_processes(tiny("training.processes=3")) == (3, "as set")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert choose_processes(tiny("run.device=auto")) == (4, "one for each GPU")
    assert choose_processes(tiny("run.device=cuda:1"))[0] == 1


def test_random_numbers_of_an_update_depend_only_on_seed_step_and_rank() -> None:
    drawn = []
    for seed, step, rank in ((1, 5, 0), (1, 5, 0), (2, 5, 0), (1, 6, 0), (1, 5, 1)):
        torch.rand(seed)
        seed_update(seed, step, rank)
        drawn.append(torch.rand(()).item())
    assert drawn[0] == drawn[1] and len(set(drawn)) == 4


def test_cuda_setup_avoids_cudnn_attention_and_keeps_allocator_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"PYTORCH_ALLOC_CONF": "backend:native"})
    cuda = Mock()
    monkeypatch.setattr(torch.backends, "cuda", cuda)
    set_up_cuda()
    cuda.enable_cudnn_sdp.assert_called_once_with(False)
    assert cuda.matmul.allow_bf16_reduced_precision_reduction is False
    assert os.environ == {"PYTORCH_ALLOC_CONF": "backend:native"}
