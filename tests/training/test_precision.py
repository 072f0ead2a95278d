"""Precision, kernels and processes are chosen by rules from the hardware, logged, and overridden by the recipe."""

import os
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from tests.support.gpu_stand_ins import CUDA_13, use_torch
from translator.config import Config, TrainingConfig
from translator.config.sections import BatchingConfig
from translator.errors import ConfigError
from translator.training import precision as room
from translator.training.precision import Choices, choose, choose_processes, set_up_cuda, threads_for

CPU = torch.device("cpu")
GPU = torch.device("cuda")
APPLE = torch.device("mps")


def choices(device: torch.device, max_length: int = 128, **settings: Any) -> Choices:
    config = Config.model_construct(
        batching=BatchingConfig(max_length=max_length, tokens_per_batch=10 * max_length),
        training=TrainingConfig(**settings),
    )
    return choose(device, config)


@pytest.fixture
def old_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without bf16 and without GPU, on which a GPU can be asked for."""
    monkeypatch.setattr(room, "has_bf16", lambda device: False)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())


# --- precision ---


@pytest.mark.parametrize(
    ("available", "pays", "expected"), [(True, True, "bf16"), (True, False, "float32"), (False, False, "float32")]
)
def test_bf16_is_chosen_where_it_is_available_and_faster(
    monkeypatch: pytest.MonkeyPatch, available: bool, pays: bool, expected: str
) -> None:
    monkeypatch.setattr(room, "has_bf16", lambda device: available)
    monkeypatch.setattr(room, "bf16_pays", lambda device: pays)
    assert choices(CPU).precision == expected


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_the_recipe_overrides_the_precision(precision: str) -> None:
    assert choices(CPU, precision=precision).precision == precision


def test_bf16_is_refused_on_a_gpu_that_lacks_it(old_gpu: None) -> None:
    with pytest.raises(ConfigError, match="this GPU lacks it; use fp16, float32 or auto"):
        choices(GPU, precision="bf16")


@pytest.mark.parametrize(("capability", "expected"), [((6, 1), "float32"), ((7, 5), "fp16")])
def test_a_gpu_without_bf16_uses_fp16_if_it_has_fp16_matrix_units(
    old_gpu: None, monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], expected: str
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert choices(GPU).precision == expected


# --- compilation and capture ---


@pytest.mark.parametrize(("max_steps", "expected"), [(1999, False), (2000, True)])
def test_a_long_run_on_a_gpu_compiles(old_gpu: None, max_steps: int, expected: bool) -> None:
    assert choices(GPU, max_steps=max_steps).compile == expected


@pytest.mark.parametrize(("setting", "expected"), [("always", True), ("never", False)])
def test_the_recipe_overrides_the_compilation(old_gpu: None, setting: str, expected: bool) -> None:
    assert choices(GPU, compile=setting).compile == expected


def test_without_a_c_compiler_nothing_is_compiled(old_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert not choices(GPU).compile


def test_a_gpu_too_old_for_triton_compiles_nothing(old_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (6, 1))
    assert not choices(GPU).compile


def test_compiling_on_a_cpu_is_refused() -> None:
    with pytest.raises(ConfigError, match="on a CPU a compiled step is slower; use auto or never"):
        choices(CPU, compile="always")


@pytest.mark.parametrize(
    ("device", "setting", "expected"),
    [(GPU, "auto", True), (GPU, "never", False), (CPU, "auto", False), (APPLE, "auto", False)],
)
def test_a_cuda_gpu_captures_the_pass_in_a_graph(
    old_gpu: None, device: torch.device, setting: str, expected: bool
) -> None:
    assert choices(device, compile=setting).capture == expected


# --- processes and threads ---


def test_a_cpu_run_has_one_process(tiny: Any) -> None:
    assert choose_processes(tiny()) == 1


def test_the_recipe_overrides_the_processes(tiny: Any) -> None:
    assert choose_processes(tiny("training.processes=3")) == 3


@pytest.mark.parametrize(("name", "expected"), [("auto", 4), ("cuda:1", 1)])
def test_processes_default_to_one_per_gpu(tiny: Any, monkeypatch: pytest.MonkeyPatch, name: str, expected: int) -> None:
    use_torch(monkeypatch, ["A100"] * 4, "13.0", CUDA_13)
    assert choose_processes(tiny(f"run.device={name}")) == expected


@pytest.mark.parametrize(
    ("cards", "expected"), [(["A100", "T4", "V100", "T4"], 2), (["V100", "T4"], 1), (["T4", "V100"], 1)]
)
def test_processes_leave_out_gpus_that_torch_cannot_use(
    cards: list[str], expected: int, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_torch(monkeypatch, cards, "13.0", CUDA_13)
    assert choose_processes(tiny("run.device=auto")) == expected


@pytest.mark.parametrize(("threads", "processes", "expected"), [(8, 3, 2), (2, 4, 1), (0, 4, 0)])
def test_processes_share_the_threads(threads: int, processes: int, expected: int) -> None:
    assert threads_for(threads, processes) == expected


# --- random numbers and CUDA ---


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Mock:
    cuda = Mock()
    monkeypatch.setattr(torch.backends, "cuda", cuda)
    return cuda


def test_cuda_setup_avoids_cudnn_attention_and_rounded_sums(cuda: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {})
    set_up_cuda()
    cuda.enable_cudnn_sdp.assert_called_once_with(False)
    assert cuda.matmul.allow_bf16_reduced_precision_reduction is False


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PYTORCH_ALLOC_CONF": "backend:native"}, {"PYTORCH_ALLOC_CONF": "backend:native"}),
        ({}, {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),
    ],
)
def test_cuda_setup_keeps_the_users_allocator_settings(
    cuda: Mock, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: dict[str, str]
) -> None:
    monkeypatch.setattr(os, "environ", dict(environment))
    set_up_cuda()
    assert os.environ == expected
