"""An NVIDIA GPU that torch cannot use is explained in one sentence, with the page to read."""

import logging
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from tests.support.gpu_stand_ins import CUDA_12_6, CUDA_13, use_driver, use_torch
from translator.errors import ConfigError
from translator.speed.device import choose_device
from translator.speed.gpu_support import caution_about_gpu, gpu_problem, has_kernels

CPU = torch.device("cpu")
OLD_DRIVER = "The NVIDIA driver on your system is too old (found version 12020). Please update your GPU driver.\nMore"


@pytest.mark.parametrize(
    ("capability", "architectures", "expected"),
    [
        ((7, 0), CUDA_13, False),
        ((6, 1), CUDA_12_6, True),  # a higher minor version than sm_60
        ((7, 2), ["sm_75"], False),  # a lower one
        ((8, 9), CUDA_13, True),
        ((12, 0), CUDA_12_6, False),
        ((12, 0), [*CUDA_12_6, "compute_90"], True),  # PTX
        ((8, 9), ["compute_90"], False),
        ((9, 0), ["sm_90a"], True),
        ((9, 0), ["gfx90a"], False),
    ],
)
def test_machine_code_needs_the_same_major_version(
    capability: tuple[int, int], architectures: list[str], expected: bool
) -> None:
    assert has_kernels(capability, architectures) == expected


def test_a_card_that_torch_has_no_code_for_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    use_torch(monkeypatch, ["V100", "T4"], "13.0", CUDA_13)
    assert gpu_problem(0) == (
        "torch 2.13.0+cu130 has no code for GPU 0 (Tesla V100, compute capability 7.0), "
        "only for sm_75, sm_80, sm_86, sm_90, sm_100, sm_120"
    )
    assert gpu_problem(1) is None


def test_a_driver_that_torch_cannot_use_is_named_with_torchs_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_torch(monkeypatch, [], "13.0", CUDA_13)
    use_driver(monkeypatch, tmp_path)
    monkeypatch.setattr(torch.cuda, "init", Mock(side_effect=RuntimeError(OLD_DRIVER)))
    assert gpu_problem() == (
        "torch 2.13.0+cu130 cannot use the NVIDIA GPU "
        "(The NVIDIA driver on your system is too old (found version 12020). Please update your GPU driver.)"
    )


@pytest.mark.parametrize("setting", ["", "-1"])
def test_hidden_gpus_are_no_problem(setting: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_torch(monkeypatch, [], "13.0", CUDA_13)
    use_driver(monkeypatch, tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", setting)
    assert gpu_problem() is None


@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_a_demanded_gpu_that_torch_cannot_use_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_torch(monkeypatch, ["V100"], "13.0", CUDA_13)
    message = rf"run\.device is `{name}`, but torch .* no code for GPU 0 .*docs/training.*; or use run\.device=cpu"
    with pytest.raises(ConfigError, match=message):
        choose_device(name)


@pytest.mark.parametrize(("setting", "warned"), [("auto", True), ("cuda", True), ("cpu", False)])
def test_the_cpu_in_place_of_a_gpu_causes_one_warning(
    setting: str, warned: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use_torch(monkeypatch, ["V100"], "13.0", CUDA_13)
    for _ in range(2):
        caution_about_gpu(setting, CPU)
    warning_texts = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warning_texts) == (1 if warned else 0)
    for text in warning_texts:
        assert text.startswith("the CPU computes, not the GPU: torch 2.13.0")
