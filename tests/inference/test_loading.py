"""From run folders to a translator: which weights, on which device, and which runs fit together."""

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from untrained import add_checkpoint, untrained_run

from translator import Translator
from translator.config import SearchConfig
from translator.data import DataHandler
from translator.errors import CheckpointError, ConfigError, RunError, SubwordError
from translator.inference.loading import check_precision
from translator.run_folder import RunFolder
from translator.subword import SubwordModel


def test_load_takes_the_checkpoint_and_the_settings_asked_for(tiny: Any) -> None:
    config = tiny()
    run = untrained_run(config, step=5)
    add_checkpoint(run, config, DataHandler(config), step=9)
    best, last, other = (Translator.load(run.path, checkpoint=name) for name in ("best", "last", "5"))
    assert [loaded.checkpoint and loaded.checkpoint.step for loaded in (best, last, other)] == [9, 9, 5]
    texts = ["abc", "hgf", "ddd eee"]
    assert best.translate_lines(texts) == last.translate_lines(texts) != other.translate_lines(texts)
    shorter = Translator.load(str(run.path), overrides=["search.max_length_ratio=0.01"])
    assert all(len(line) <= 11 for line in shorter.translate_lines(texts))


def test_load_falls_back_to_the_cpu_only_when_nobody_asked(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    run = untrained_run(tiny("run.device=cuda"))
    assert len(Translator.load(run.path).translate_lines(["abc"])) == 1
    with pytest.raises(ConfigError, match=r"run\.device is `cuda`, but torch finds no CUDA GPU here"):
        Translator.load(run.path, device="cuda")


def test_load_falls_back_to_the_cpu_where_the_runs_gpu_is_not(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    run = untrained_run(tiny("run.device=cuda:3"))
    assert len(Translator.load(run.path).translate_lines(["abc"])) == 1
    with pytest.raises(ConfigError, match=r"run\.device is `cuda:3`, but there are only 1 GPUs"):
        Translator.load(run.path, device="cuda:3")


def test_load_refuses_other_subword_models(tiny: Any, tmp_path: Path) -> None:
    run = untrained_run(tiny())
    model = run.subword_folder / "target.model"
    SubwordModel.train(["xyz zyx", "zz xx yy"], tiny().subword, model)
    with pytest.raises(SubwordError, match=r"target\.model is not the model that was trained"):
        Translator.load(run.path)
    (run.subword_folder / "subword.json").unlink()
    with pytest.raises(CheckpointError, match=r"subword models in .* are not those .* `best` .* restore the whole run"):
        Translator.load(run.path)


def test_load_refuses_a_run_without_the_record_of_its_subword_models(tiny: Any) -> None:
    run = untrained_run(tiny())
    (run.subword_folder / "subword.json").unlink()
    with pytest.raises(SubwordError, match=r"run/subword/subword\.json is missing, .*: restore it from a copy"):
        Translator.load(run.path)


def test_load_says_when_there_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no run at .*nowhere"):
        Translator.load(tmp_path / "nowhere")
    assert RunFolder(tmp_path / "nowhere").path.exists() is False


def test_an_ensemble_is_the_mean_of_its_models(tiny: Any) -> None:
    config = tiny()
    first = untrained_run(config)
    second = untrained_run(tiny(f"run.directory={first.path.parent}/second"), step=7)
    texts = ["abc", "hgf", "ddd eee"]
    search = SearchConfig(method="greedy")
    alone, other = (Translator.load(run.path, search=search) for run in (first, second))
    both = Translator.load([first.path, second.path], search=search)
    assert both.label == "run+second"
    assert both.checkpoint_name == "step-000005+step-000007"
    assert len({alone.identity, other.identity, both.identity}) == 3
    assert alone.arithmetic == both.arithmetic == "cpu, highest"
    twice = Translator.load([first.path, first.path], search=search)
    assert twice.translate_lines(texts) == alone.translate_lines(texts)
    targets = ["abc", "abc", "abc"]
    for own, theirs, together in zip(
        *(translator.score(texts, targets) for translator in (alone, other, both)), strict=True
    ):
        # The logarithm of a mean is not below the mean of the logarithms; here the models differ.
        assert together.score > (own.score + theirs.score) / 2


def test_runs_that_do_not_speak_of_the_same_tokens(tiny: Any) -> None:
    first = untrained_run(tiny())
    folder = first.path.parent
    second = untrained_run(
        tiny(f"run.directory={folder}/second", "subword.vocabulary_size=61", "subword.model_type=bpe")
    )
    with pytest.raises(RunError, match=r"make no ensemble: their subword models differ \(.*model\)"):
        Translator.load([first.path, second.path])


def test_runs_that_read_their_text_otherwise(tiny: Any) -> None:
    first = untrained_run(tiny())
    second = untrained_run(tiny(f"run.directory={first.path.parent}/second"))
    settings = yaml.safe_load(second.config_file.read_text(encoding="utf-8"))
    settings["corpus"]["normalization"]["zwnj"] = not settings["corpus"]["normalization"]["zwnj"]
    second.config_file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    with pytest.raises(RunError, match=r"they read their text otherwise \(corpus\.normalization\.zwnj\)"):
        Translator.load([first.path, second.path])


def test_no_run_at_all() -> None:
    with pytest.raises(RunError, match="no run is given"):
        Translator.load([])


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_fewer_bits_give_nearly_the_same_scores(precision: str, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.inference.loading.has_bf16", lambda device: True)
    run = untrained_run(tiny())
    exact, rounded = (
        Translator.load(run.path, overrides=[f"search.precision={name}"]) for name in ("float32", precision)
    )
    sources, targets = ["abc", "hgf dd"], ["cba", "abc"]
    pairs = list(zip(exact.score(sources, targets), rounded.score(sources, targets), strict=True))
    assert all(theirs.score == pytest.approx(own.score, rel=0.05) for own, theirs in pairs)
    assert any(theirs.score != own.score for own, theirs in pairs), "it is rounded indeed"
    assert len(rounded.translations(sources, attention=True)) == 2


def test_a_precision_that_is_not_there(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.inference.loading.has_bf16", lambda device: False)
    run = untrained_run(tiny())
    with pytest.raises(ConfigError, match="`bf16`, which this processor computes only by way of float32"):
        Translator.load(run.path, search=SearchConfig(precision="bf16"))
    with pytest.raises(ConfigError, match="`int8`, which torch has on a CPU only, and the device is cuda:1"):
        check_precision("int8", torch.device("cuda:1"))
