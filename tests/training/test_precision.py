"""Precision, kernels and processes are chosen by rules from the hardware, logged, and overridden by the recipe."""

from typing import Any

import pytest
import torch

from tests.support.gpu_stand_ins import CUDA_13, use_torch
from translator.config import Config, TrainingConfig
from translator.config.sections import BatchingConfig
from translator.errors import ConfigError
from translator.training import precision as room
from translator.training.precision import Choices, choose, choose_processes

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


@pytest.mark.parametrize(("name", "expected"), [("auto", 4), ("cuda:1", 1), ("cpu", 1)])
def test_processes_default_to_one_per_gpu(tiny: Any, monkeypatch: pytest.MonkeyPatch, name: str, expected: int) -> None:
    use_torch(monkeypatch, ["A100"] * 4, "13.0", CUDA_13)
    assert choose_processes(tiny(f"run.device={name}")) == expected
