"""CTranslate2 computes on a GPU only where cuBLAS for CUDA 12 loads; otherwise on the CPU, or one message says why."""

import ctypes
import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path
from unittest.mock import Mock

import ctranslate2
import pytest

from tests.support.export_stand_ins import TEXTS
from translator import Translator
from translator.errors import ConfigError
from translator.export.package import export_run
from translator.inference.engines.ctranslate2_library import choose_ctranslate2_device
from translator.run.folder import RunFolder
from translator.search.request import SearchRequest


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


def test_an_export_translates_on_a_machine_whose_gpu_lacks_cublas(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = export_run(run.path, "ctranslate2", tmp_path / "out")
    use_gpus(monkeypatch, 1)
    translator = Translator.load(folder, overrides=["run.device=cuda"])
    assert translator.searcher.arithmetic.startswith("cpu")
    assert len(translator.translate_lines(TEXTS)) == len(TEXTS)
    assert caplog.text.count("ctranslate2 translates on the CPU") == 1


@pytest.mark.parametrize(
    ("name", "gpus", "message"),
    [
        ("cuda", 1, "install that, or use the CPU"),
        ("cuda", 0, "`cuda` here, where it finds 0 CUDA GPUs"),
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
        choose_ctranslate2_device(name, must_be_gpu=True)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CUDA failed with error no kernel image is available for execution on the device", ConfigError),
        ("cuBLAS failed with status CUBLAS_STATUS_ALLOC_FAILED", ConfigError),
        ("Library libcublas.so.12 is not found or cannot be loaded", ConfigError),
        ("a bug", RuntimeError),
    ],
)
def test_only_errors_of_a_gpu_are_explained(
    text: str, kind: type[Exception], run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator.load(run.path, engine="ctranslate2")
    error = RuntimeError(text)
    future = Mock(result=Mock(side_effect=error))  # CTranslate2 raises at the result of a translation
    library_model = Mock(translate_batch=Mock(return_value=[future]), score_batch=Mock(side_effect=error))
    monkeypatch.setattr(translator.searcher, "_model", library_model)
    with pytest.raises(kind, match=text):
        translator.searcher.find(SearchRequest([[5]], translator.search))
    with pytest.raises(kind, match=text):
        translator.searcher.score([[5]], [[6]], translator.search.settings)
