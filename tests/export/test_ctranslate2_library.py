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
    ("name", "gpus", "cublas", "expected"),
    [
        ("auto", 1, "libcublas.so.12", "cuda:0"),
        ("cuda:1", 2, "libcublas.so.12", "cuda:1"),
        ("cuda:1", 1, "libcublas.so.12", "cpu"),
        ("auto", 0, "libcublas.so.12", "cpu"),
        ("cpu", 1, "libcublas.so.12", "cpu"),
        ("mps", 1, "libcublas.so.12", "cpu"),
        ("cuda", 1, "libcublas.so.13", "cpu"),
    ],
)
def test_a_gpu_is_taken_where_cublas_loads_and_a_missing_cublas_is_told(
    name: str,
    gpus: int,
    cublas: str,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    use_gpus(monkeypatch, gpus, cublas)
    assert choose_ctranslate2_device(name, must_exist=False) == expected
    assert ("ctranslate2 translates on the CPU" in caplog.text) == (cublas != "libcublas.so.12")


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
