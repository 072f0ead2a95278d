"""CTranslate2 computes on a GPU only where cuBLAS for CUDA 12 loads; otherwise on the CPU, or one message says why."""

import ctypes
import importlib.util
import logging
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import ctranslate2
import pytest

from tests.support.complaints import complaint
from tests.support.export_stand_ins import TEXTS
from translator import Translator
from translator.errors import ConfigError, RunError
from translator.export.package import export_run
from translator.inference.engines.ctranslate2_library import choose_ctranslate2_device
from translator.run.folder import RunFolder
from translator.search.request import SearchRequest

MISSING = "Library libcublas.so.12 is not found or cannot be loaded"
CUDA_FAILED = "CUDA failed with error"
CANNOT_COMPUTE = "ctranslate2 cannot compute on this GPU"
INSTALL = "install nvidia-cublas-cu12"


def use_gpus(monkeypatch: pytest.MonkeyPatch, count: int, cublas: str = "") -> None:
    """Let CTranslate2 see `count` GPUs, and the system load cuBLAS under the name or path `cublas` alone."""

    def load(name: str) -> None:
        if name != cublas:
            raise OSError(f"{name}: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(ctranslate2, "get_cuda_device_count", lambda: count)
    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize(
    ("name", "gpus", "expected"),
    [
        ("auto", 1, "cuda:0"),
        ("cuda", 1, "cuda:0"),
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
    assert choose_ctranslate2_device(name, must_be_gpu=False) == expected


def test_cublas_is_loaded_from_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_gpus(monkeypatch, 1, str(tmp_path / "cublas" / "lib" / "libcublas.so.12"))
    package = ModuleSpec("nvidia", None, is_package=True)
    package.submodule_search_locations = ["elsewhere", str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", {"nvidia": package}.get)
    assert choose_ctranslate2_device("cuda", must_be_gpu=True) == "cuda:0"


@pytest.mark.parametrize("name", ["auto", "cuda"])
def test_without_cublas_the_cpu_translates_with_one_warning(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use_gpus(monkeypatch, 1)
    for _ in range(2):
        assert choose_ctranslate2_device(name, must_be_gpu=False) == "cpu"
    (warning,) = warnings_in(caplog)
    assert warning.startswith("ctranslate2 translates on the CPU: on a GPU ctranslate2 needs libcublas.so.12, which")
    assert INSTALL in warning


@pytest.mark.parametrize(
    ("name", "gpus", "message"),
    [
        ("cuda", 1, INSTALL),
        ("cuda", 0, "the device is `cuda`, but ctranslate2 finds no CUDA GPU here; use the CPU"),
        ("cuda:2", 2, r"finds only 2 CUDA GPUs \(from 0\) here; use the CPU"),
        ("mps", 1, "the device is `mps`, but ctranslate2 finds no CUDA GPU here"),
        ("tpu", 1, "the device is `auto`, `cpu`, `mps`, `cuda` or `cuda:N`, not `tpu`"),
    ],
)
def test_a_demanded_gpu_that_is_out_of_reach_is_refused(
    name: str, gpus: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_gpus(monkeypatch, gpus)
    with pytest.raises(ConfigError, match=message):
        choose_ctranslate2_device(name, must_be_gpu=True)


def test_an_export_translates_on_a_machine_whose_gpu_lacks_cublas(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = export_run(run.path, "ctranslate2", tmp_path / "out")
    use_gpus(monkeypatch, 1)
    translator = Translator.load(folder)
    assert translator.searcher.arithmetic == "cpu"
    assert len(translator.translate_lines(TEXTS)) == len(TEXTS)


def test_a_demanded_gpu_without_cublas_ends_the_command_with_one_message(
    run: RunFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Translator.load(run.path, engine="ctranslate2")  # makes the export that the run keeps
    use_gpus(monkeypatch, 1)
    flags = ["--engine", "ctranslate2", "--device", "cuda"]
    message = complaint(capsys, "translate", "--run", str(run.path), *flags, TEXTS[0])
    assert "the device is `cuda`, but on a GPU ctranslate2 needs libcublas.so.12" in message
    assert INSTALL in message


def test_a_library_that_is_missing_at_the_first_product_is_explained(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # CTranslate2 raises at the result of a translation, and at the call of a scoring.
    translator = Translator.load(run.path, engine="ctranslate2")
    error = RuntimeError(MISSING)
    future = Mock(result=Mock(side_effect=error))
    library_model = Mock(
        translate_batch=Mock(return_value=[future]),
        score_batch=Mock(side_effect=error),
    )
    monkeypatch.setattr(translator.searcher, "_model", library_model)

    message = rf"needs libcublas\.so\.12.*{INSTALL}; or use the CPU"
    with pytest.raises(ConfigError, match=message):
        translator.searcher.find(SearchRequest([[5]], translator.search))
    with pytest.raises(ConfigError, match=message):
        translator.searcher.score([[5]], [[6]], translator.search.settings)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (f"{CUDA_FAILED} no kernel image is available for execution on the device", ConfigError, CANNOT_COMPUTE),
        (f"{CUDA_FAILED} CUDA driver version is insufficient for CUDA runtime version", ConfigError, CANNOT_COMPUTE),
        ("cuBLAS failed with status CUBLAS_STATUS_NOT_SUPPORTED", ConfigError, CANNOT_COMPUTE),
        (f"{CUDA_FAILED} out of memory", RunError, "memory of the GPU ran out"),
        ("cuBLAS failed with status CUBLAS_STATUS_ALLOC_FAILED", RunError, "memory of the GPU ran out"),
    ],
)
def test_a_gpu_that_fails_is_explained(
    error: str, kind: type[Exception], message: str, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = Mock(side_effect=RuntimeError(error))

    # In a search ...
    translator = Translator.load(run.path, engine="ctranslate2")
    monkeypatch.setattr(translator.searcher, "_model", Mock(translate_batch=failure))
    with pytest.raises(kind, match=rf"{message} \({error}\); .*\(--device cpu\)"):
        translator.searcher.find(SearchRequest([[5]], translator.search))

    # ... and while the model is loaded.
    monkeypatch.setattr(ctranslate2, "Translator", failure)
    with pytest.raises(kind, match=message):
        Translator.load(run.path, engine="ctranslate2")


def test_other_errors_of_ctranslate2_stay_as_they_are(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator.load(run.path, engine="ctranslate2")
    searcher: Any = translator.searcher
    failing_score = Mock(side_effect=RuntimeError("a bug"))
    monkeypatch.setattr(searcher, "_model", Mock(score_batch=failing_score))
    with pytest.raises(RuntimeError, match="a bug"):
        searcher.score([[5]], [[6]], translator.search.settings)
