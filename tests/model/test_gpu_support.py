"""An NVIDIA GPU that torch cannot use is explained in one message, with what to install."""

import logging
import os
import warnings
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from tests.support.gpu_stand_ins import CUDA_12_6, CUDA_13, use_system, use_torch
from translator.errors import ConfigError
from translator.model import gpu_support
from translator.model.device import choose_device, has_bf16
from translator.model.gpu_support import caution_about_gpu, gpu_problem, has_kernels

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


@pytest.mark.parametrize(("card", "capability"), [("V100", "7.0"), ("P100", "6.0")])
def test_a_card_older_than_torch_needs_the_build_for_cuda_12(
    card: str, capability: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_torch(monkeypatch, [card], "13.0", CUDA_13)
    problem = gpu_problem()
    assert problem is not None
    assert problem.reason == (
        f"torch 2.13.0+cu130 has no code for GPU 0 (Tesla {card}, compute capability {capability}), "
        "only for sm_75, sm_80, sm_86, sm_90, sm_100, sm_120"
    )
    assert problem.remedy.endswith("pip install torch==2.13.0+cu126 --index-url https://download.pytorch.org/whl/cu126")


@pytest.mark.parametrize(("build", "cuda"), [("cu126", "12.6"), ("cu130", "13.0")])
def test_the_oldest_gpu_of_each_build_is_that_of_torchs_own_table(build: str, cuda: str) -> None:
    table = getattr(torch.cuda, "PYTORCH_RELEASES_CODE_CC", None)
    if table is None:
        pytest.skip("this torch has no table of its builds")
    oldest = min(table[cuda]["x86_64"])
    assert gpu_support._OLDEST_CAPABILITY[build] == divmod(oldest, 10)


def test_a_version_without_the_old_build_is_replaced_by_an_older_one(monkeypatch: pytest.MonkeyPatch) -> None:
    use_torch(monkeypatch, ["V100"], "13.2", CUDA_13)
    monkeypatch.setattr(torch, "__version__", "2.15.0+cu132")
    assert "pip install 'torch<2.15' --index-url https://download.pytorch.org/whl/cu126" in str(gpu_problem())


@pytest.mark.parametrize(
    ("card", "cuda", "architectures", "remedy"),
    [
        ("K80", "12.6", CUDA_12_6, "use another GPU"),
        ("H100", "12.6", ["sm_80"], "torch==2.13.0+cu130 --index-url https://download.pytorch.org/whl/cu130"),
        ("H100", "13.0", ["sm_80"], "pip install --upgrade torch"),
    ],
)
def test_the_remedy_fits_card_and_build(
    card: str, cuda: str, architectures: list[str], remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_torch(monkeypatch, [card], cuda, architectures)
    assert str(gpu_problem()).endswith(remedy)


def test_a_card_with_code_in_torch_is_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    use_torch(monkeypatch, ["T4"], "13.0", CUDA_13)
    assert gpu_problem() is None


@pytest.mark.parametrize(
    ("driver", "remedy"),
    [
        (
            "535.183.01",
            "or torch for CUDA 12.6, which this driver supports, for GPUs of compute capability 5.0 to 9.0: ",
        ),
        ("470.256.02", "install driver 580 or newer"),
    ],
)
def test_an_old_driver_is_named_with_the_one_that_torch_needs(
    driver: str, remedy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_torch(monkeypatch, [], "13.0", CUDA_13)
    use_system(monkeypatch, tmp_path, driver)
    monkeypatch.setattr(torch.cuda, "init", Mock(side_effect=RuntimeError(OLD_DRIVER)))
    problem = gpu_problem()
    assert problem is not None
    reason = f"torch 2.13.0+cu130 for CUDA 13.0 cannot use Tesla V100, since the NVIDIA driver {driver} is too old"
    assert problem.reason == reason
    assert remedy in problem.remedy


@pytest.mark.parametrize(
    ("driver", "command"),
    [
        (
            "580.65.06",
            "torch==2.13.0+cu130 --index-url https://download.pytorch.org/whl/cu130 (for a GPU older than T4",
        ),
        ("535.183.01", "torch==2.13.0+cu126 --index-url https://download.pytorch.org/whl/cu126"),
    ],
)
def test_torch_without_cuda_is_replaced_by_the_build_for_the_driver(
    driver: str, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_torch(monkeypatch, [], None, [])
    use_system(monkeypatch, tmp_path, driver)
    problem = gpu_problem()
    assert problem is not None
    assert problem.reason == "torch 2.13.0+cpu, which is built without CUDA, cannot use Tesla V100"
    assert command in problem.remedy


@pytest.mark.parametrize(
    ("driver", "access", "message"),
    [
        (None, True, "this machine has an NVIDIA GPU, but its driver is not loaded; install NVIDIA's driver 580"),
        ("580.65.06", False, "no access to Tesla V100, since it finds no /dev/nvidiactl; start the container with its"),
        ("580.65.06", True, "cannot start Tesla V100 with driver 580.65.06 (Error 802: system not yet initialized);"),
    ],
)
def test_a_card_out_of_reach_is_explained(
    driver: str | None, access: bool, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_torch(monkeypatch, [], "13.0", CUDA_13)
    use_system(monkeypatch, tmp_path, driver, access=access)
    monkeypatch.setattr(torch.cuda, "init", Mock(side_effect=RuntimeError("Error 802: system not yet initialized")))
    assert message in str(gpu_problem())


@pytest.mark.parametrize("cuda", [None, "13.0"])
def test_a_machine_without_nvidia_card_has_no_problem(
    cuda: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_torch(monkeypatch, [], cuda, CUDA_13)
    use_system(monkeypatch, tmp_path, None, card=False)
    assert gpu_problem() is None


def test_an_old_driver_of_windows_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_torch(monkeypatch, [], "13.0", CUDA_13)
    use_system(monkeypatch, tmp_path, "Windows")
    monkeypatch.setattr(torch.cuda, "init", Mock(side_effect=RuntimeError(OLD_DRIVER)))
    problem = gpu_problem()
    assert problem is not None
    assert problem.reason.endswith("cannot use the NVIDIA GPU, since the NVIDIA driver of Windows is too old")
    assert problem.remedy == "install driver 580 or newer"


def test_torch_without_cuda_is_replaced_under_windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_torch(monkeypatch, [], None, [])
    use_system(monkeypatch, tmp_path, "Windows")
    assert "install torch for CUDA 13, which needs driver 580 or newer: " in str(gpu_problem())


@pytest.mark.parametrize(
    ("setting", "expected"), [("", False), ("-1", False), ("NoDevFiles", False), ("0", True), ("GPU-8932f937", True)]
)
def test_hidden_gpus_are_no_problem(
    setting: str, expected: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_torch(monkeypatch, [], "13.0", CUDA_13)
    use_system(monkeypatch, tmp_path, None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", setting)
    assert (gpu_problem() is not None) == expected


def test_auto_takes_the_first_gpu_that_torch_can_use(monkeypatch: pytest.MonkeyPatch) -> None:
    use_torch(monkeypatch, ["V100", "T4", "A100"], "13.0", CUDA_13)
    assert choose_device("auto") == choose_device("cuda") == torch.device("cuda", 1)


@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_a_demanded_gpu_that_torch_cannot_use_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_torch(monkeypatch, ["V100"], "13.0", CUDA_13)
    message = rf"run\.device is `{name}`, but torch .* no code for GPU 0 .*whl/cu126; or use run\.device=cpu"
    with pytest.raises(ConfigError, match=message):
        choose_device(name)


def test_a_demanded_gpu_that_torch_cannot_see_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_torch(monkeypatch, [], None, [])
    use_system(monkeypatch, tmp_path, "580.65.06")
    with pytest.raises(
        ConfigError, match=r"run\.device is `cuda`, but torch 2\.13\.0\+cpu, which is built without CUDA"
    ):
        choose_device("cuda")


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


def test_torchs_own_warnings_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    use_torch(monkeypatch, ["V100"], "13.0", CUDA_13)
    monkeypatch.setattr(torch.cuda, "get_device_capability", warning_and((7, 0)))
    monkeypatch.setattr(torch.cuda, "is_available", warning_and(True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gpu_problem() is not None


def warning_and(value: object) -> Mock:
    """Return a function that warns, and returns `value`."""

    def answer(*_: object) -> object:
        warnings.warn("Found GPU0 Tesla V100 which is of compute capability (CC) 7.0.", stacklevel=1)
        return value

    return Mock(side_effect=answer)


def test_the_allocator_is_set_before_cuda_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    use_torch(monkeypatch, ["A100"], "13.0", CUDA_13)
    settings: list[str] = []

    def capability(number: int) -> tuple[int, int]:
        settings.append(os.environ["PYTORCH_CUDA_ALLOC_CONF"])
        return 8, 0

    monkeypatch.delenv("PYTORCH_CUDA_ALLOC_CONF")
    monkeypatch.delenv("PYTORCH_ALLOC_CONF", raising=False)
    monkeypatch.setattr(torch.cuda, "get_device_capability", capability)
    assert gpu_problem() is None
    assert settings[0] == "expandable_segments:True"


@pytest.mark.parametrize(("number", "expected"), [(0, True), (1, False)])
def test_bf16_is_decided_for_each_gpu(number: int, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    use_torch(monkeypatch, ["A100", "T4"], "13.0", CUDA_13)
    assert has_bf16(torch.device("cuda", number)) is expected
