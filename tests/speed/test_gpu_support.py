"""An NVIDIA GPU that torch cannot use is explained in one sentence, with the page to read."""

from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from tests.support.gpu_stand_ins import CUDA_12_6, CUDA_13, use_driver, use_torch
from translator.speed.gpu_support import caution_about_gpu, gpu_problem, has_kernels

OLD_DRIVER = "The NVIDIA driver on your system is too old (found version 12020)."


@pytest.mark.parametrize(
    ("capability", "architectures", "expected"),
    [
        ((6, 1), CUDA_12_6, True),  # a higher minor version than sm_60
        ((7, 2), ["sm_75"], False),  # a lower one
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


@pytest.mark.parametrize("visible", [None, "", "-1"])
def test_a_driver_that_torch_cannot_use_is_named_with_torchs_reason_unless_its_gpus_are_hidden(
    visible: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_torch(monkeypatch, [], "13.0", CUDA_13)
    use_driver(monkeypatch, tmp_path)
    monkeypatch.setattr(torch.cuda, "init", Mock(side_effect=RuntimeError(f"{OLD_DRIVER}\nMore")))
    if visible is None:
        assert gpu_problem() == f"torch 2.13.0+cu130 cannot use the NVIDIA GPU ({OLD_DRIVER})"
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert gpu_problem() is None


@pytest.mark.parametrize(("setting", "warnings"), [("auto", 1), ("cuda", 1), ("cpu", 0)])
def test_the_cpu_in_place_of_a_gpu_causes_one_warning(
    setting: str, warnings: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use_torch(monkeypatch, ["V100"], "13.0", CUDA_13)
    for _ in range(2):
        caution_about_gpu(setting, torch.device("cpu"))
    assert caplog.text.count("the CPU computes, not the GPU: torch 2.13.0") == len(caplog.messages) == warnings
