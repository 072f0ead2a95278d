"""From run folders to a translator: which weights, on which device, and which runs fit together."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.support.gpu_stand_ins import CUDA_13, use_torch
from tests.support.sentences import trained
from tests.support.small_model import small_model
from tests.support.tiny_recipe import write_recipe
from tests.support.untrained import add_checkpoint, untrained_run
from translator import Translator
from translator.config import SearchConfig, parse_config
from translator.core.transformer import Transformer
from translator.data import DataHandler
from translator.errors import CheckpointError, ConfigError, RunError
from translator.inference.engines.torch_searcher import TorchSearcher, search_precision
from translator.run.folder import RunFolder
from translator.search.request import SearchRequest

TEXTS = ["abc", "hgf", "ddd eee"]


@pytest.fixture(scope="module")
def two_checkpoints(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run with checkpoints of steps 5 and 9; the newer one is the best. To be read only."""
    recipe = write_recipe(tmp_path_factory.mktemp("two"))
    config = parse_config(recipe.read_text(encoding="utf-8"), "tiny.yaml")
    run = untrained_run(config, step=5)
    add_checkpoint(run, config, DataHandler(config), step=9)
    return run


@pytest.mark.parametrize(("name", "step"), [("best", 9), ("last", 9), ("5", 5)])
def test_load_takes_the_checkpoint_of_a_name(name: str, step: int, two_checkpoints: RunFolder) -> None:
    translator = Translator.load(two_checkpoints.path, checkpoint=name)
    assert translator.checkpoint_name == f"step-{step:06d}"


def test_load_falls_back_to_the_cpu_unless_a_device_is_requested(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    run = untrained_run(tiny("run.device=cuda"))
    assert len(Translator.load(run.path).translate_lines(["abc"])) == 1
    with pytest.raises(ConfigError, match=r"run\.device is `cuda`, but torch finds no CUDA GPU here"):
        Translator.load(run.path, device="cuda")


@pytest.mark.parametrize("setting", ["auto", "cuda"])
def test_a_gpu_that_torch_cannot_use_is_replaced_by_the_cpu_with_a_warning(
    setting: str, tiny: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = untrained_run(tiny(f"run.device={setting}"))
    use_torch(monkeypatch, ["V100"], "13.0", CUDA_13)
    monkeypatch.setattr("translator.inference.engines.engine._may_have_gpu", lambda: True)
    assert Translator.load(run.path, engine="torch").searcher.arithmetic.startswith("cpu")
    assert "the CPU computes, not the GPU: torch 2.13.0+cu130 has no code for GPU 0 (Tesla V100" in caplog.text
    with pytest.raises(ConfigError, match="no code for GPU 0"):
        Translator.load(run.path, device="cuda")


def test_load_refuses_subword_models_replaced_after_training(tiny: Any) -> None:
    run = untrained_run(tiny())
    trained(["xyz zyx", "zz xx yy"], tiny().subword, run.subword_folder / "target.model")
    with pytest.raises(
        CheckpointError, match=r"subword models in .* are not those .* `step-000005` .* restore the whole run"
    ):
        Translator.load(run.path)


def torch_translator(*runs: Path) -> Translator:
    return Translator.load(runs, engine="torch")


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of the same data, with different weights; to be read only."""
    recipe = write_recipe(tmp_path_factory.mktemp("members"))
    config = parse_config(recipe.read_text(encoding="utf-8"), "tiny.yaml")
    first = untrained_run(config)
    overrides = [f"run.directory={first.path.parent}/second"]
    second_config = parse_config(recipe.read_text(encoding="utf-8"), "tiny.yaml", overrides)
    second = untrained_run(second_config, step=7)
    return [first.path, second.path]


def test_an_ensemble_is_named_after_its_members(members: list[Path]) -> None:
    ensemble = torch_translator(*members)
    assert ensemble.label == "run+second"
    assert ensemble.checkpoint_name == "step-000005+step-000007"


def test_an_ensemble_has_an_identity_of_its_own(members: list[Path]) -> None:
    first, second = map(torch_translator, members)
    ensemble = torch_translator(*members)
    assert len({first.identity, second.identity, ensemble.identity}) == 3


def test_an_ensemble_averages_the_probabilities_of_its_models(members: list[Path]) -> None:
    targets = ["abc"] * len(TEXTS)
    first = torch_translator(members[0]).score(TEXTS, targets)
    second = torch_translator(members[1]).score(TEXTS, targets)
    ensemble = torch_translator(*members).score(TEXTS, targets)
    for averaged, first_member, second_member in zip(ensemble, first, second, strict=True):
        # The log of a mean exceeds the mean of the logs if the models differ, as they do here.
        assert averaged.score > (first_member.score + second_member.score) / 2


def test_runs_of_different_normalization_are_refused_as_an_ensemble(members: list[Path], tmp_path: Path) -> None:
    # A copy of the second run that differs in one setting.
    stranger = RunFolder(tmp_path / "stranger")
    shutil.copytree(members[1], stranger.path, symlinks=True)
    settings = yaml.safe_load(stranger.config_file.read_text(encoding="utf-8"))
    normalization = settings["corpus"]["normalization"]
    normalization["orthography"] = not normalization["orthography"]
    stranger.config_file.write_text(yaml.safe_dump(settings), encoding="utf-8")

    with pytest.raises(RunError, match="they differ in direction, subword models or normalization"):
        Translator.load([members[0], stranger.path])


def test_runs_of_different_subword_models_are_refused_as_an_ensemble(tiny: Any, random_run: Path) -> None:
    stranger = untrained_run(tiny("subword.vocabulary_size=61", "subword.model_type=bpe"))
    with pytest.raises(RunError, match="cannot be combined: they differ in direction, subword models or normalization"):
        Translator.load([random_run, stranger.path])


def test_an_ensemble_of_no_runs_is_refused() -> None:
    with pytest.raises(RunError, match="no run is given"):
        Translator.load([])


@pytest.mark.parametrize("engine", ["auto", "torch", "ctranslate2"])
def test_bf16_on_a_cpu_is_refused_before_any_work(random_run: Path, engine: str) -> None:
    files = set(random_run.rglob("*"))
    reason = r"`bf16`, which needs a GPU; on a CPU, set search\.precision=float32, or int8 for the ctranslate2 engine"
    with pytest.raises(ConfigError, match=reason):
        Translator.load(random_run, engine=engine, device="cpu", search=SearchConfig(precision="bf16"))
    assert set(random_run.rglob("*")) == files, "it has exported nothing"


def test_a_gpu_searches_in_bf16_if_it_supports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.inference.engines.torch_searcher.has_bf16", lambda device: True)
    assert search_precision("bf16", torch.device("cuda:0")) == "bf16"


def test_a_gpu_without_bf16_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translator.inference.engines.torch_searcher.has_bf16", lambda device: False)
    with pytest.raises(ConfigError, match="`bf16`, which torch does not support on cuda here; set"):
        search_precision("bf16", torch.device("cuda:0"))


def test_int8_is_refused_by_the_torch_engine(random_run: Path) -> None:
    with pytest.raises(ConfigError, match="`int8`, which only the ctranslate2 engine supports; add --engine"):
        Translator.load(random_run, engine="torch", search=SearchConfig(precision="int8"))


def test_loading_and_translating_change_no_setting_of_the_process(tiny: Any) -> None:
    run = untrained_run(tiny("run.threads=3"))
    threads = torch.get_num_threads()
    assert threads != 3
    translator = Translator.load(run.path)
    translator.translations(["abc", "hgf"], attention=True)
    translator.score(["abc"], ["cba"])
    assert torch.get_float32_matmul_precision() == "highest"
    assert torch.get_num_threads() == threads
    assert translator.threads == 3, "a command that owns its process may ask for them"


def test_search_sets_eval_mode_then_restores_training(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model()
    training_modes: list[bool] = []
    start = Transformer.start

    def start_and_record(self: Transformer, *arguments: Any) -> Any:
        training_modes.append(self.training)
        return start(self, *arguments)

    monkeypatch.setattr(Transformer, "start", start_and_record)
    TorchSearcher([model], torch.device("cpu")).find(SearchRequest([[5, 6, 7]], SearchConfig()))
    assert training_modes == [False]
    assert model.training
