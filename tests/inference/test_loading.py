"""From run folders to a translator: which weights, on which device, and which runs fit together."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.support.gpu_stand_ins import CUDA_13, use_torch
from tests.support.untrained import untrained_run
from translator import Translator
from translator.errors import CheckpointError, ConfigError, InputError, RunError
from translator.inference.engines.torch_searcher import search_precision
from translator.run.folder import RunFolder
from translator.subword.model import WORDS_FILE
from translator.subword.spelling import write_word_counts


def changed_copy(run: Path, folder: Path, section: str, key: str, value: Any) -> Path:
    """Return a copy of a run with another value in its recipe."""
    copy = RunFolder(shutil.copytree(run, folder / "copy", symlinks=True))
    settings = yaml.safe_load(copy.config_file.read_text(encoding="utf-8"))
    (settings["corpus"] | settings)[section][key] = value
    copy.config_file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return copy.path


# --- the device and the precision ---


def test_load_falls_back_to_the_cpu_unless_a_device_is_requested(
    random_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    run = changed_copy(random_run, tmp_path, "run", "device", "cuda")
    assert len(Translator.load(run).translate_lines(["abc"])) == 1
    with pytest.raises(ConfigError, match=r"run\.device is `cuda`, but torch finds no CUDA GPU here"):
        Translator.load(run, device="cuda")


def test_a_gpu_that_torch_cannot_use_is_replaced_by_the_cpu_with_a_warning(
    random_run: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    use_torch(monkeypatch, ["V100"], "13.0", CUDA_13)
    monkeypatch.setattr("translator.inference.engines.engine._may_have_gpu", lambda: True)
    translator = Translator.load(random_run, engine="torch", overrides=["run.device=auto"])
    assert translator.searcher.arithmetic.startswith("cpu")
    assert "the CPU computes, not the GPU: torch 2.13.0+cu130 has no code for GPU 0 (Tesla V100" in caplog.text


def test_a_gpu_searches_in_bf16_only_if_it_supports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.inference.engines.torch_searcher.has_bf16", lambda device: device.index == 0)
    assert search_precision("bf16", torch.device("cuda:0")) == "bf16"
    message = r"`bf16`, which torch does not support on cuda here; set search\.precision=float32"
    with pytest.raises(ConfigError, match=message):
        search_precision("bf16", torch.device("cuda:1"))


# --- runs that fit together ---


def test_load_refuses_subword_models_replaced_after_training(random_run: Path, tmp_path: Path) -> None:
    run = RunFolder(shutil.copytree(random_run, tmp_path / "run", symlinks=True))
    shutil.copyfile(run.subword_folder / "source.model", run.subword_folder / "target.model")
    with pytest.raises(
        CheckpointError, match=r"subword models in .* are not those .* `step-000005` .* restore the whole run"
    ):
        Translator.load(run.path)


def test_an_ensemble_has_its_own_identity_and_takes_no_longer_sentence_than_its_members(
    random_run: Path, tmp_path: Path
) -> None:
    shorter = changed_copy(random_run, tmp_path, "batching", "max_length", 9)
    first, second = (Translator.load(runs) for runs in ([random_run, shorter], [shorter, random_run]))
    assert first.max_length == second.max_length == 9
    assert first.identity != Translator.load(random_run, engine="torch").identity


def test_runs_of_other_subword_models_or_normalization_are_refused_as_an_ensemble(
    tiny: Any, random_run: Path, tmp_path: Path
) -> None:
    other_subword = untrained_run(tiny("subword.vocabulary_size=61", "subword.model_type=bpe")).path
    other_normalization = changed_copy(random_run, tmp_path, "normalization", "orthography", True)
    for other in (other_subword, other_normalization):
        with pytest.raises(RunError, match="cannot be combined: they differ in direction, subword models or norm"):
            Translator.load([random_run, other])


def test_an_ensemble_corrects_spelling_as_its_first_run_does(random_run: Path, tmp_path: Path) -> None:
    other = RunFolder(shutil.copytree(random_run, tmp_path / "other"))
    write_word_counts(other.subword_folder / WORDS_FILE, {"abcdefgh": 1_000_000})
    alone = Translator.load(other.path, engine="torch").subword.correct_spelling
    first = Translator.load([other.path, random_run]).subword.correct_spelling
    second = Translator.load([random_run, other.path]).subword.correct_spelling
    assert alone("abcdefhg") == first("abcdefhg") == "abcdefgh"
    assert second("abcdefhg") == "abcdefhg"


def test_no_run_and_an_unknown_engine_are_refused() -> None:
    with pytest.raises(RunError, match="no run is given"):
        Translator.load([])
    with pytest.raises(InputError, match="unknown engine `onnx`; choose one of: auto, torch, ctranslate2"):
        Translator.load("run", engine="onnx")


# --- what stays as it was ---


def test_loading_and_translating_change_no_setting_of_the_process(random_run: Path) -> None:
    threads = torch.get_num_threads()
    translator = Translator.load(random_run, overrides=[f"run.threads={threads + 2}"])
    translator.translations(["abc", "hgf"], attention=True)
    translator.score(["abc"], ["cba"])
    assert torch.get_float32_matmul_precision() == "highest"
    assert torch.get_num_threads() == threads
    assert translator.threads == threads + 2, "a command that owns its process may ask for them"
