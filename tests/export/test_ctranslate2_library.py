"""CTranslate2 computes on a GPU only where cuBLAS for CUDA 12 loads; otherwise on the CPU, or one message says why."""

import ctypes
import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path

import ctranslate2
import pytest

from translator.errors import ConfigError
from translator.inference.engines.ctranslate2_library import choose_ctranslate2_device, library_errors


def use_gpus(monkeypatch: pytest.MonkeyPatch, count: int, cublas: str = "") -> None:
    """Let CTranslate2 see `count` GPUs, and the system load cuBLAS under the name or path `cublas` alone."""

    def load(name: str) -> None:
        if name != cublas:
            raise OSError(f"{name}: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(ctranslate2, "get_cuda_device_count", lambda: count)
    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.mark.parametrize(
    ("name", "gpus", "expected"),
    [
        ("auto", 1, "cuda:0"),
        ("cuda:1", 2, "cuda:1"),
        ("cuda:1", 1, "cpu"),
        ("auto", 0, "cpu"),
        ("cpu", 1, "cpu"),
        ("mps", 1, "cpu"),
    ],
)
def test_a_gpu_is_taken_where_cublas_loads(
    name: str, gpus: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_gpus(monkeypatch, gpus, "libcublas.so.12")
    assert choose_ctranslate2_device(name, must_exist=False) == expected


def test_the_cpu_takes_the_place_of_a_gpu_without_cublas_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use_gpus(monkeypatch, 1)
    for _ in range(2):
        assert choose_ctranslate2_device("cuda", must_exist=False) == "cpu"
    assert caplog.text.count("ctranslate2 translates on the CPU") == 1


def test_cublas_is_loaded_from_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_gpus(monkeypatch, 1, str(tmp_path / "cublas" / "lib" / "libcublas.so.12"))
    package = ModuleSpec("nvidia", None, is_package=True)
    package.submodule_search_locations = ["elsewhere", str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", {"nvidia": package}.get)
    assert choose_ctranslate2_device("cuda", must_exist=True) == "cuda:0"


@pytest.mark.parametrize(
    ("name", "gpus", "message"),
    [
        ("cuda", 1, "install that, or use the CPU"),
        ("cuda:2", 2, "`cuda:2` here, where it finds 2 CUDA GPUs"),
        ("mps", 1, "`mps` here"),
        ("tpu", 1, "the device is `auto`, `cpu`, `mps`, `cuda` or `cuda:N`, not `tpu`"),
    ],
)
def test_a_demanded_gpu_that_is_out_of_reach_is_refused(
    name: str, gpus: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_gpus(monkeypatch, gpus)
    with pytest.raises(ConfigError, match=message):
        choose_ctranslate2_device(name, must_exist=True)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CUDA failed with error no kernel image is available for execution on the device", ConfigError),
        ("cuBLAS failed with status CUBLAS_STATUS_ALLOC_FAILED", ConfigError),
        ("Library libcublas.so.12 is not found or cannot be loaded", ConfigError),
        ("a bug", RuntimeError),
    ],
)
def test_only_errors_of_a_gpu_are_explained(text: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=text), library_errors():
        raise RuntimeError(text)
