"""Precision, kernels and processes are chosen by rules from the hardware, and overridden by the recipe."""

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.support.gpu_stand_ins import CUDA_12_6, use_torch
from translator.config import Config, TrainingConfig
from translator.errors import ConfigError
from translator.training import precision as room
from translator.training.precision import Choices, choose, choose_processes

EXAMPLES = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))


def choices(device: str, **settings: Any) -> Choices:
    return choose(torch.device(device), Config.model_construct(training=TrainingConfig(**settings)))


@pytest.fixture
def four_gpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with GPUs of a kind, and with all that a compiler needs."""
    use_torch(monkeypatch, [request.param] * 4, "12.6", CUDA_12_6)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())


@pytest.mark.parametrize(
    ("available", "pays", "expected"), [(True, True, "bf16"), (True, False, "float32"), (False, False, "float32")]
)
def test_a_cpu_computes_in_bf16_where_it_is_available_and_faster(
    monkeypatch: pytest.MonkeyPatch, available: bool, pays: bool, expected: str
) -> None:
    monkeypatch.setattr(room, "has_bf16", lambda device: available)
    monkeypatch.setattr(room, "bf16_pays", lambda device: pays)
    assert choices("cpu") == Choices(precision=expected, compile=False, capture=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(("four_gpus", "settings", "expected"), EXAMPLES["choices"], indirect=["four_gpus"])
def test_a_gpu_computes_in_what_it_supports_in_a_graph_and_a_long_run_compiles(
    four_gpus: None, settings: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert choices("cuda", **settings) == Choices(**expected)


@pytest.mark.parametrize("four_gpus", ["A100"], indirect=True)
def test_without_a_c_compiler_nothing_is_compiled(four_gpus: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert not choices("cuda").compile


@pytest.mark.parametrize("four_gpus", ["T4"], indirect=True)
def test_what_a_device_cannot_do_is_refused(four_gpus: None) -> None:
    with pytest.raises(ConfigError, match="this GPU lacks it; use fp16, float32 or auto"):
        choices("cuda", precision="bf16")
    with pytest.raises(ConfigError, match="on a CPU a compiled step is slower; use auto or never"):
        choices("cpu", compile="always")


@pytest.mark.parametrize("four_gpus", ["A100"], indirect=True)
@pytest.mark.parametrize(("name", "expected"), [("auto", 4), ("cuda:1", 1), ("cpu", 1)])
def test_processes_default_to_one_per_gpu(four_gpus: None, tiny: Any, name: str, expected: int) -> None:
    assert choose_processes(tiny(f"run.device={name}")) == expected
