"""From run folders to a translator: which weights, on which device, and which runs fit together."""

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from small_model import small_model
from untrained import add_checkpoint, untrained_run

from translator import Translator
from translator.config import SearchConfig, TrainingConfig
from translator.data import DataHandler
from translator.errors import CheckpointError, ConfigError, RunError, SubwordError
from translator.inference.torch_searcher import TorchSearcher, search_precision, search_rounding
from translator.model import Transformer
from translator.model.device import matmul_precision
from translator.subword import SubwordModel

TEXTS = ["abc", "hgf", "ddd eee"]


def test_load_takes_the_checkpoint_and_the_settings_asked_for(tiny: Any) -> None:
    config = tiny()
    run = untrained_run(config, step=5)
    add_checkpoint(run, config, DataHandler(config).prepare(), step=9)
    best, last, other = (Translator.load(run.path, checkpoint=name) for name in ("best", "last", "5"))
    assert [one.checkpoint_name[-1] for one in (best, last, other)] == ["9", "9", "5"]
    assert best.translate_lines(TEXTS) == last.translate_lines(TEXTS) != other.translate_lines(TEXTS)
    shorter = Translator.load(str(run.path), overrides=["search.max_length_ratio=0.01"])
    assert all(len(line) <= 11 for line in shorter.translate_lines(TEXTS))


def test_load_falls_back_to_the_cpu_unless_a_device_is_requested(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    run = untrained_run(tiny("run.device=cuda"))
    assert len(Translator.load(run.path).translate_lines(["abc"])) == 1
    with pytest.raises(ConfigError, match=r"run\.device is `cuda`, but torch finds no CUDA GPU here"):
        Translator.load(run.path, device="cuda")


def test_load_refuses_subword_models_replaced_after_training(tiny: Any) -> None:
    run = untrained_run(tiny())
    SubwordModel.train(["xyz zyx", "zz xx yy"], tiny().subword, run.subword_folder / "target.model")
    with pytest.raises(SubwordError, match=r"target\.model is not the model that was trained"):
        Translator.load(run.path)
    (run.subword_folder / "subword.json").unlink()
    with pytest.raises(
        CheckpointError, match=r"subword models in .* are not those .* `step-000005` .* restore the whole run"
    ):
        Translator.load(run.path)


def test_an_ensemble_averages_the_probabilities_of_its_models(tiny: Any) -> None:
    first = untrained_run(tiny())
    second = untrained_run(tiny(f"run.directory={first.path.parent}/second"), step=7)
    groups = [first.path], [second.path], [first.path, second.path], [first.path, first.path]
    alone, other, both, twice = (Translator.load(group, engine="torch") for group in groups)
    assert (both.label, both.checkpoint_name) == ("run+second", "step-000005+step-000007")
    assert len({alone.identity, other.identity, both.identity}) == 3
    assert alone.searcher.arithmetic == both.searcher.arithmetic == "cpu, highest"
    assert twice.translate_lines(TEXTS) == alone.translate_lines(TEXTS)
    scored = [[one.score for one in made.score(TEXTS, ["abc"] * 3)] for made in (alone, other, both)]
    for own, theirs, together in zip(*scored, strict=True):
        # The log of a mean exceeds the mean of the logs if the models differ, as they do here.
        assert together > (own + theirs) / 2


def test_incompatible_runs_are_refused_as_an_ensemble(tiny: Any) -> None:
    first = untrained_run(tiny())
    folder = first.path.parent
    second = untrained_run(tiny(f"run.directory={folder}/second"))
    settings = yaml.safe_load(second.config_file.read_text(encoding="utf-8"))
    settings["corpus"]["normalization"]["zwnj"] = not settings["corpus"]["normalization"]["zwnj"]
    second.config_file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    third = untrained_run(tiny(f"run.directory={folder}/third", "subword.vocabulary_size=61", "subword.model_type=bpe"))
    for runs, message in (
        ([first.path, second.path], r"they differ in normalization \(corpus\.normalization\.zwnj\)"),
        ([first.path, third.path], r"cannot be combined: they differ in subword models \(.*model\)"),
        ([], "no run is given"),
    ):
        with pytest.raises(RunError, match=message):
            Translator.load(runs)


@pytest.mark.parametrize("engine", ["auto", "torch", "ctranslate2"])
def test_bf16_on_a_cpu_is_refused_before_any_work(random_run: Path, engine: str) -> None:
    files = set(random_run.rglob("*"))
    reason = r"`bf16`, which needs a GPU; on a CPU, set search\.precision=float32, or int8 for the ctranslate2 engine"
    with pytest.raises(ConfigError, match=reason):
        Translator.load(random_run, engine=engine, device="cpu", search=SearchConfig(precision="bf16"))
    assert set(random_run.rglob("*")) == files, "it has exported nothing"


def test_a_gpu_searches_in_bf16_if_it_supports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.inference.torch_searcher.has_bf16", lambda device: True)
    assert search_precision("bf16", torch.device("cuda:0")) == "bf16"


def test_a_gpu_without_bf16_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.inference.torch_searcher.has_bf16", lambda device: False)
    with pytest.raises(ConfigError, match="`bf16`, which torch does not support on cuda here; set"):
        search_precision("bf16", torch.device("cuda:0"))


def test_int8_is_refused_by_the_torch_engine(random_run: Path) -> None:
    with pytest.raises(ConfigError, match="`int8`, which only the ctranslate2 engine supports; add --engine"):
        Translator.load(random_run, engine="torch", search=SearchConfig(precision="int8"))


def test_loading_and_translating_change_no_setting_of_the_process(tiny: Any) -> None:
    run = untrained_run(tiny("run.threads=3"))
    threads = torch.get_num_threads()
    assert threads != 3
    with matmul_precision("medium"):
        translator = Translator.load(run.path)
        translator.translations(["abc", "hgf"], attention=True)
        translator.score(["abc"], ["cba"])
        assert torch.get_float32_matmul_precision() == "medium"
    assert torch.get_num_threads() == threads
    assert translator.threads == 3, "a command that owns its process may ask for them"


def test_search_sets_eval_mode_and_precision_then_restores_training(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model()
    seen: list[tuple[str, bool]] = []
    start = Transformer.start

    def noting(self: Transformer, *arguments: Any) -> Any:
        seen.append((torch.get_float32_matmul_precision(), self.training))
        return start(self, *arguments)

    monkeypatch.setattr(Transformer, "start", noting)
    with matmul_precision("medium"):
        TorchSearcher([model], torch.device("cpu")).find([[5, 6, 7]], SearchConfig())
    assert seen == [("highest", False)]
    assert model.training


def test_cpu_search_uses_highest_precision_and_gpu_search_that_of_training() -> None:
    assert search_rounding(torch.device("cpu"), TrainingConfig(matmul_precision="medium")) == "highest"
    assert search_rounding(torch.device("cuda"), TrainingConfig(matmul_precision="high")) == "high"
