"""What is left to the machine is chosen by rules on facts, said, and overridden by the recipe."""

from typing import Any

import pytest
import torch

from translator.config import TrainingConfig
from translator.errors import ConfigError
from translator.training import choices
from translator.training.choices import choose, choose_processes, threads_for

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("there", "pays", "right", "expected"),
    [
        (True, True, True, "bf16"),
        (True, True, False, "float32"),
        (True, False, True, "float32"),
        (False, False, True, "float32"),
    ],
)
def test_bf16_is_taken_where_it_is_there_and_right_and_pays(
    monkeypatch: pytest.MonkeyPatch, there: bool, pays: bool, right: bool, expected: str
) -> None:
    monkeypatch.setattr(choices, "has_bf16", lambda device: there)
    monkeypatch.setattr(choices, "bf16_pays", lambda device: pays)
    monkeypatch.setattr(choices, "bf16_is_right", lambda device: right)
    chosen = choose(CPU, TrainingConfig())
    assert chosen.precision == expected
    assert chosen.reasons["training.precision"].startswith(expected)
    assert choose(CPU, TrainingConfig(precision="float32")).precision == "float32"


@pytest.mark.parametrize(("pays", "expected"), [(True, "medium"), (False, "highest")])
def test_float32_products_round_where_it_pays(monkeypatch: pytest.MonkeyPatch, pays: bool, expected: str) -> None:
    monkeypatch.setattr("translator.device.bf16_pays", lambda device: pays)
    chosen = choose(CPU, TrainingConfig())
    assert chosen.matmul_precision == expected
    assert chosen.reasons["training.matmul_precision"].startswith(f"{expected} (float32 products")
    assert choose(CPU, TrainingConfig(matmul_precision="high")).matmul_precision == "high"


def test_bf16_that_a_gpu_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "has_bf16", lambda device: False)
    with pytest.raises(ConfigError, match="this GPU has none; use float32 or auto"):
        choose(GPU, TrainingConfig(precision="bf16"))
    assert choose(CPU, TrainingConfig(precision="bf16")).precision == "bf16"


def test_a_cpu_packs_and_a_gpu_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "has_bf16", lambda device: False)
    on_cpu, on_gpu = choose(CPU, TrainingConfig()), choose(GPU, TrainingConfig())
    assert (on_cpu.packed, on_cpu.attention, on_cpu.compile) == (True, "plain", False)
    assert (on_gpu.packed, on_gpu.attention, on_gpu.compile) == (False, "fused", True)
    assert not choose(GPU, TrainingConfig(max_steps=100)).compile, "a short run is over before it pays"
    compiled = choose(CPU, TrainingConfig(compile="always"))
    assert (compiled.packed, compiled.attention, compiled.compile) == (False, "fused", True)
    assert len(on_cpu.lines()) == len(on_cpu.reasons) == 5


def test_processes(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_processes(tiny())[0] == 1
    assert choose_processes(tiny("training.processes=3")) == (3, "as set")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert choose_processes(tiny("run.device=auto")) == (4, "one for each GPU")
    assert choose_processes(tiny("run.device=cuda:1"))[0] == 1


@pytest.mark.parametrize(("threads", "processes", "expected"), [(0, 2, 0), (1, 2, 1), (3, 2, 1), (8, 2, 4), (5, 1, 5)])
def test_threads_are_divided(threads: int, processes: int, expected: int) -> None:
    assert threads_for(threads, processes) == expected
